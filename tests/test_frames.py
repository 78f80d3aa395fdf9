"""Frames of pandas and polars go in and come out, and results show themselves in notebooks."""

import datetime
import html
import re

import numpy as np
import pytest

import taxocaps
from taxocaps.corpus.frames import frame_documents, is_frame
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.errors import CorpusError, FileError, TaxoCapsError

LIBRARIES = ("pandas", "polars")
SVM = {"model": "SVM", "bag__min_documents": 1}


@pytest.fixture(params=LIBRARIES)
def frame(request):
    """Makes a frame of either library out of columns."""
    return pytest.importorskip(request.param).DataFrame


@pytest.fixture
def news(frame):
    return frame(
        {
            "Body": ["goal striker club", "film actor stage"] * 20,
            "Tags": [["sport"], ["art"]] * 20,
            "when": [datetime.date(2024, 1, 1) + datetime.timedelta(days=n) for n in range(40)],
        }
    )


def test_what_a_frame_is(frame):
    assert is_frame(frame({"a": [1]}))
    assert not is_frame({"a": [1]})
    assert not is_frame(frame({"a": [1]})["a"])
    assert not is_frame("a.csv")


def test_rows_are_documents(frame):
    rows = frame({"ID": [7, 8], "Title": ["a", None], "Body": ["b", "c"], "labels": ["x; y", None]})
    first, second = frame_documents(rows)
    assert (first.id, first.text, first.labels) == ("7", "a\nb", ("x", "y"))
    assert (second.text, second.labels) == ("c", None)
    assert [document.text for document in frame_documents(rows, CorpusConfig(text_field="Body"))] == ["b", "c"]
    with pytest.raises(CorpusError, match=r"the frame: no field 'Boddy'.*did you mean 'Body'"):
        list(frame_documents(rows, CorpusConfig(text_field="Boddy")))


def test_what_is_missing_in_pandas_is_nothing():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"text": ["a", "b", "c"], "labels": [np.array(["x"]), np.nan, pandas.NA]})
    assert [document.labels for document in frame_documents(rows)] == [("x",), None, None]


def test_training_predicting_and_measuring(news, frame, tmp_path):
    report = taxocaps.train(news, tmp_path / "model", test=news[:6], **SVM)
    assert report.card.documents == {"train": 40, "test": 6}
    by_date = taxocaps.train(news, tmp_path / "by-date", split_by="when", **SVM)
    assert by_date.card.documents == {"train": 32, "dev": 4, "test": 4}
    found = taxocaps.predict(tmp_path / "model", news[:3])
    assert next(found).labels[0].label == "sport"
    assert found.to_pandas()["labels"].tolist() == [["art"], ["sport"]]
    table = taxocaps.predict(tmp_path / "model", ["goal", ""]).to_polars()
    assert table["labels"].to_list() == [["sport"], []]
    assert table["scores"].to_list()[0][0] > 0.5
    assert taxocaps.evaluate(tmp_path / "model", news).flat.micro.f1 == 1.0
    with pytest.raises(CorpusError, match=r"^the frame: no document carries a label.*the fields are: 'Body'"):
        taxocaps.evaluate(tmp_path / "model", frame({"Body": ["goal"]}))
    with pytest.raises(FileError, match=r"Crude prices rose: no such file or folder; .*; give a text in a list"):
        taxocaps.predict(tmp_path / "model", "Crude prices rose")
    with pytest.raises(TaxoCapsError, match="with output, documents must be a path"):
        taxocaps.predict(tmp_path / "model", news, output=tmp_path / "labels.jsonl")


def test_a_classifier(news):
    classifier = taxocaps.TaxoCapsClassifier(**SVM).fit(news, news["Tags"])
    assert classifier.predict(news[:2]) == [("sport",), ("art",)]
    assert classifier.predict(news["Body"][:2]) == [("sport",), ("art",)]
    assert classifier.score(news, news["Tags"]) == 1.0


def test_results_show_themselves_and_no_text_becomes_markup(tmp_path):
    bad = "<script>alert(1)</script>"
    tree = taxocaps.Taxonomy.from_edges([("root", bad), (bad, "art")], titles={"art": "<i>Art</i>"})
    texts, labels = ["goal striker", "film actor"] * 10, [[bad], ["art"]] * 10
    classifier = taxocaps.TaxoCapsClassifier(taxonomy=tree, **SVM).fit(texts, labels)
    classifier.save(tmp_path / "model")
    shown = [
        tree,
        next(taxocaps.predict(classifier, [f"goal film {bad}"], threshold=0.0)),
        classifier.evaluate(texts, labels),
        classifier.explain(f"goal film {bad}"),
    ]
    for result in shown:
        markup = result._repr_html_()
        assert markup.startswith("<table>")
        assert set(re.findall(r"<(\w+)", markup)) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "meter"}
    assert html.escape(bad) in shown[0]._repr_html_()
    assert html.escape(bad) in shown[1]._repr_html_()
    assert "goal" in shown[3]._repr_html_()
