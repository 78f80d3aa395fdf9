"""Words with places and weights, for every way to read a text."""

import pytest

from taxocaps.estimators.document_words import DocumentWords, plain_text

TEXT = "Strikers scored;  the xyzzy supporters carry the goalkeeper home."
LINEAR = {"family": "linear", "bag": {"min_documents": 1}}


def shown(words):
    return [plain_text(words.content)[word.start : word.end] for word in words.kept]


def test_words_of_a_text(fitted):
    words = DocumentWords(fitted.scorer, TEXT)
    assert [word.word for word in words.kept] == [
        "striker",
        "score",
        "xyzzy",
        "supporter",
        "carry",
        "goalkeeper",
        "home",
    ]
    assert shown(words) == ["Strikers", "scored", "xyzzy", "supporters", "carry", "goalkeeper", "home"]
    assert [word.word for word in words.kept if not word.is_known] == ["xyzzy"]
    assert words.method == "occlusion"


def test_ready_tokens(fitted):
    words = DocumentWords(fitted.scorer, ("striker", "", "home"))
    assert shown(words) == [word.word for word in words.kept] == ["striker", "home"]


@pytest.fixture(scope="module")
def linear(fit):
    return fit(LINEAR)


def test_linear_words_are_sorted_by_weight_and_add_up(linear):
    words = DocumentWords(linear.scorer, TEXT)
    column = linear.classes.names.index("Football")
    (found,) = words.weights([column])
    assert words.method == "linear"
    assert [one.weight for one in found] == sorted((one.weight for one in found), reverse=True)
    assert {one.word for one in found[:2]} <= {"striker", "goalkeeper", "supporter", "score"}
    margin = linear.scorer.weights.margins(linear.scorer.encoder.read([TEXT]))[0, column]
    total = sum(one.weight for one in found) + linear.scorer.weights.intercept[column]
    assert total == pytest.approx(margin, abs=1e-4)


def test_characters(fit_network):
    model = fit_network("vdcnn", tokens={"unit": "characters", "length": 64}, vectors={"source": "none"})
    words = DocumentWords(model.scorer, TEXT)
    assert [word.word for word in words.kept][:3] == ["strikers", "scored;", "the"]
    assert shown(words) == TEXT.split()
    assert all(word.is_known for word in words.kept)
    (found,) = words.weights([0])
    assert found
    assert {one.word for one in found} <= set(TEXT.lower().split())


def test_a_scorer_of_an_unknown_kind_has_no_words(keywords, toys):
    words = DocumentWords(keywords(None, toys[1]), TEXT)
    assert (words.method, words.kept, words.weights([0])) == ("none", (), [()])
