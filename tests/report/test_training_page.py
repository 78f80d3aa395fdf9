"""The training report holds all metrics as data, whatever labels are called, and a browser draws them."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.metrics.classification import OtherLabels
from taxocaps.metrics.diagnosis import diagnose
from taxocaps.metrics.evaluation import evaluate
from taxocaps.report.training_page import training_page
from taxocaps.results import FitReport, ModelCard, TaxonomyLabel, TaxonomyView

EVIL = "<script>alert('x')</script>"


def view(parents, titles=None, thresholds=0.5, without=()):
    """A taxonomy from the parents of each label, parents first; those of `without` cannot be given."""
    levels = {}
    for name, above in parents.items():
        levels[name] = 1 + min((levels[parent] for parent in above), default=-1)
    given = iter([thresholds] * len(parents) if isinstance(thresholds, float) else thresholds)
    labels = [
        TaxonomyLabel(
            name, (titles or {}).get(name, name), levels[name], tuple(above), None if name in without else next(given)
        )
        for name, above in parents.items()
    ]
    return TaxonomyView("m", tuple(name for name, above in parents.items() if not above), tuple(labels))


# "group", "deep" and the root are no labels of the model; "cat" has two parents.
PARENTS = {
    "all": [],
    "animal": ["all"],
    EVIL: ["animal"],
    "group": ["all"],
    "deep": ["group"],
    "cat": ["deep", "animal"],
    "oak": ["deep"],
}
TITLES, WITHOUT = {"oak": "Oak tree"}, ("all", "group", "deep")
TAXONOMY = view(PARENTS, TITLES, without=WITHOUT)
HISTORY = (
    {"epoch": 1, "step": 3, "loss": 0.9, "validation_loss": 1.0, "micro_f1": 0.25, "seconds": 1.0},
    {"epoch": 2, "step": 6, "loss": float("nan"), "validation_loss": float("inf"), "micro_f1": 0.5, "seconds": 2.0},
    {"epoch": 3, "step": 9, "loss": 0.5, "validation_loss": 0.8, "micro_f1": 0.4, "seconds": 3.0},
)


def givable(taxonomy):
    return [label for label in taxonomy.labels if label.threshold is not None]


def measured(taxonomy, seed, documents=60):
    """An evaluation and a diagnosis of scores at random; no document carries the last label."""
    labels, generator = givable(taxonomy), np.random.default_rng(seed)
    truth = generator.random((documents, len(labels))) < 0.4
    truth[:, -1] = False
    scores = np.clip(0.4 * truth + 0.7 * generator.random(truth.shape), 0, 1).astype(np.float32)
    predicted = csr_array(scores >= 0.5)
    evaluation = evaluate(
        csr_array(truth),
        predicted,
        names=[label.label for label in labels],
        levels=[label.level for label in labels],
        scores=scores,
        others=OtherLabels(
            ("elm",), csr_array(np.arange(documents)[:, None] < 2), csr_array((documents, 1), dtype=bool)
        ),
    )
    parents = [label.parents or ("",) for label in labels]
    return evaluation.as_dict(), diagnose(csr_array(truth), predicted, scores, parents)


def given(taxonomy=TAXONOMY, test=True, history=HISTORY, top_k=None):
    """The arguments of a page."""
    validation, diagnosis = measured(taxonomy, seed=1)
    card = ModelCard(
        name=EVIL,
        model="M",
        preset="fast",
        seed=7,
        labels=len(givable(taxonomy)),
        language="en",
        hierarchy="as-is",
        rule="per-label",
        at_least=0,
        parameters=1234,
        epochs=3,
        best_epoch=2,
        documents={"train": 300, "dev": 60},
        validation=validation,
        test=measured(taxonomy, seed=2)[0] if test else None,
    )
    return {
        "card": card,
        "taxonomy": taxonomy,
        "diagnosis": diagnosis,
        "fit": FitReport(3, 2, history),
        "top_k": top_k,
    }


def page_of(*arguments, **changes):
    return training_page(**given(*arguments, **changes))


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def test_no_label_can_start_a_script_and_no_network_is_needed():
    page = page_of()
    assert page.count("<script") == page.count("</script>") == 2
    assert "innerHTML" not in page
    assert "default-src 'none'" in page
    seen = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: seen.append((tag, dict(attributes)))
    parser.feed(page)
    assert len(seen) > 30
    assert not [tag for tag, attributes in seen if tag in ("link", "img", "iframe") or {"src", "href"} & {*attributes}]


@pytest.mark.slow
def test_rare_labels_are_listed_and_scores_that_are_no_probabilities_are_told(visit):
    arguments = given()
    page = visit(training_page(**arguments))
    assert page.locator("#rare").text_content() == ""
    assert "not probabilities" not in page.locator("#parts").text_content()
    arguments["card"] = replace(arguments["card"], is_calibrated=False, rare_labels={EVIL: 1, "oak": 2})
    page = visit(training_page(**arguments))
    assert page.locator("#rare").text_content() == (
        f"2 labels with only one or two training documents, too few to learn from: {EVIL} (1), Oak tree (2)."
    )
    assert "Scores are not probabilities" in page.locator("#parts").text_content()


def test_labels_have_the_figures_of_both_evaluations():
    arguments = given()
    lines = data_of(training_page(**arguments))["labels"]
    assert [line[:4] for line in lines] == [
        ["animal", None, 1, 0.5],
        [EVIL, None, 2, 0.5],
        ["cat", None, 2, 0.5],
        ["oak", "Oak tree", 3, 0.5],
    ]
    for evaluation, place in ((arguments["card"].validation, 4), (arguments["card"].test, 5)):
        for row, line in zip(evaluation["label_rows"], lines, strict=True):
            assert line[place][:2] == [row["support"], row["predicted"]]
            assert line[place][2:] == pytest.approx([row["precision"], row["recall"], row["f1"]], abs=1e-4)


def test_levels_add_up_their_labels():
    data = data_of(page_of())
    for part, place in (("validation", 4), ("test", 5)):
        for level, labels, support, predicted, *shares in data["levels"][part]:
            members = [line[place] for line in data["labels"] if line[2] == level]
            assert labels == len(members)
            assert support == sum(member[0] for member in members)
            assert predicted == sum(member[1] for member in members)
            assert shares[3] == pytest.approx(np.mean([member[4] for member in members]), abs=1e-4)


def test_without_test_documents_there_is_one_part():
    data = data_of(page_of(test=False))
    assert list(data["summary"]) == list(data["levels"]) == ["validation"]
    assert {len(line) for line in data["labels"]} == {5}


def test_the_curves_of_epochs_and_numbers_that_json_has_not():
    history = data_of(page_of())["history"]
    assert [row["epoch"] for row in history] == [1, 2, 3]
    assert [row["loss"] for row in history] == [0.9, None, 0.5]
    assert [row["validation_loss"] for row in history] == [1.0, None, 0.8]
    assert {row["macro_f1"] for row in history} == {None}


def test_the_tree_leads_to_every_label_on_all_its_paths():
    data = data_of(page_of())
    names = [line[0] for line in data["labels"]]
    ways = {}
    for name, id, above, column in data["tree"]:
        ways[len(ways)] = (*ways.get(above, ()), name)
        assert column == -1 or names[column] == (id or name)
        assert (id is not None) == (name == "Oak tree")
    assert sorted(ways.values()) == sorted(
        [
            ("animal",),
            ("animal", EVIL),
            ("animal", "cat"),
            ("group",),
            ("group", "deep"),
            ("group", "deep", "Oak tree"),
            ("group", "deep", "cat"),
        ]
    )


def test_a_root_that_is_a_label_stands_in_the_tree():
    assert data_of(page_of(view({"all": [], "animal": ["all"]})))["tree"] == [
        ["all", None, -1, 0],
        ["animal", None, -1, 1],
    ]


def test_calibration_thresholds_and_confusions():
    arguments = given()
    data, diagnosis = data_of(training_page(**arguments)), arguments["diagnosis"]
    bins, curve = diagnosis.reliability, diagnosis.curve
    assert [row[4] for row in data["reliability"]] == bins.count.tolist()
    assert [row[2] for row in data["reliability"]] == pytest.approx(bins.mean_score.tolist(), abs=1e-4)
    assert [row[3] for row in data["reliability"]] == pytest.approx(bins.observed.tolist(), abs=1e-4)
    assert [row[1] for row in data["reliability"]][-1] == 1
    assert [row[0] for row in data["curve"]] == pytest.approx(curve.thresholds.tolist(), abs=1e-4)
    assert [row[3] for row in data["curve"]] == pytest.approx(curve.counts.f1.tolist(), abs=1e-4)
    assert [row[1] is None for row in data["curve"]] == (curve.counts.predicted == 0).tolist()
    first = diagnosis.confusions[0]
    assert data["confusions"][0][:2] == [first.label, first.predicted]
    assert data["confusions"][0][2:5] == [["animal"], first.count, first.support]


def thousands(count):
    """A taxonomy of `count` labels with long names, in three levels."""
    tops = [f"subject number {n} of the thesaurus" for n in range(20)]
    middle = [f"a more particular subject {n}" for n in range(count // 10)]
    leaves = [f"something very particular indeed {n}" for n in range(count - len(tops) - len(middle))]
    parents = {"all": []} | {top: ["all"] for top in tops}
    parents |= {name: [tops[n % len(tops)]] for n, name in enumerate(middle)}
    parents |= {name: [middle[n % len(middle)]] for n, name in enumerate(leaves)}
    return view(parents, without=("all",))


def test_four_thousand_labels_make_no_heavy_page():
    assert len(page_of(thousands(4_000)).encode()) < 1_500_000


def drawn(page):
    """The page without its data and script, once the script has run."""
    return page.content().partition('id="data"')[0]


@pytest.mark.slow
def test_a_browser_draws_everything(visit):
    body = drawn(visit(page_of()))
    assert body.count('class="plot"') == 4
    assert "kept: 2" in body
    assert "chosen: 0.500" in body
    assert body.count('class="node-line"') == 2  # "animal" and "group"; what is below them is folded
    assert body.count("<script") == 1  # the one that holds the data
    assert "4 labels</span>" in body
    assert body.count("<tr") == 1 + 15 + 2 + 3 + 1 + len(given()["diagnosis"].confusions) + 2 + 4
    assert "undefined" not in body
    assert "NaN" not in body


@pytest.mark.slow
def test_a_browser_says_what_a_model_has_not(visit):
    arguments = given(test=False, history=(), top_k=3)
    arguments["diagnosis"] = replace(arguments["diagnosis"], confusions=())
    body = drawn(visit(training_page(**arguments)))
    assert body.count('class="plot"') == 2
    assert "there are no learning curves" in body
    assert "gets its 3 labels" in body
    assert "No validation document was given a sibling" in body
    assert "threshold</button>" not in body


@pytest.mark.slow
def test_a_browser_marks_the_thresholds_of_labels(visit):
    body = drawn(visit(page_of(view(PARENTS, TITLES, [0.2, 0.4, 0.6, 0.6], WITHOUT))))
    assert body.count('class="rug"') == 3
    assert "from 0.200 to 0.600; the median is 0.600" in body


@pytest.mark.slow
def test_a_browser_folds_thousands_of_labels(visit):
    body = drawn(visit(page_of(thousands(4_000))))
    assert body.count('class="node-line"') == 20
    assert "100 of 4,000 labels shown" in body
    assert len(body) < 300_000


@pytest.mark.slow
def test_in_a_browser_labels_are_sorted_and_found_and_branches_open(visit):
    arguments = given()
    page = visit(training_page(**arguments))

    def click(column):
        page.locator("#labels th button", has_text=re.compile(f"^{column}$")).first.click()

    def shown():
        return page.eval_on_selector_all(
            "#labels tbody tr", "all => all.map(one => one.cells[0].firstChild.textContent)"
        )

    click("label")
    rising = shown()
    assert rising == [EVIL, "animal", "cat", "Oak tree"]
    click("label")
    assert shown() == rising[::-1]
    click("F1")
    rows = [row for row in arguments["card"].validation["label_rows"] if row["support"]]
    best = [row["label"] for row in sorted(rows, key=lambda row: -row["f1"])]
    assert shown() == [*best, "Oak tree"]  # a label without support has no F1, and comes last
    page.fill("#filter", "TREE")
    assert shown() == ["Oak tree"]
    page.fill("#filter", "")
    page.select_option("#level", "2")
    assert sorted(shown()) == [EVIL, "cat"]
    page.locator("#tree summary").first.click()
    page.wait_for_selector("#tree .leaf")
    assert page.locator("#tree .name").all_text_contents() == ["animal", EVIL, "cat", "group"]
