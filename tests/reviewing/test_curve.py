"""The learning curve: a power law that is found again, and points that are measured on documents not learned from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit
from scipy.sparse import csr_array

from taxocaps.corpus.document import Document
from taxocaps.corpus.labels import Classes
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.reviewing.curve import FEWEST, fit_power_law, learning_curve
from taxocaps.scorers.base import Examples, FitContext
from taxocaps.scorers.linear import LinearModelConfig
from taxocaps.taxonomy import Taxonomy

SIZES = np.array([50.0, 100, 200, 400, 800])


@given(a=st.floats(0, 0.5), b=st.floats(0.5, 3), c=st.floats(0.1, 1.5))
def test_a_law_without_noise_is_found_again(a, b, c):
    found = fit_power_law(SIZES, (a + b * SIZES**-c)[None])
    later = found[0] + found[1] * 1600 ** -found[2]
    assert later[0] == pytest.approx(a + b * 1600**-c, abs=0.01)


def test_the_fit_is_as_close_as_that_of_scipy():
    errors = 0.1 + 2 * SIZES**-0.6 + np.random.default_rng(0).normal(0, 0.005, 5)

    def law(n, a, b, c):
        return a + b * n**-c

    theirs, _ = curve_fit(law, SIZES, errors, p0=(0.1, 1, 0.5), sigma=SIZES**-0.5, bounds=(0, [1, 10, 2]))
    ours = [one[0] for one in fit_power_law(SIZES, errors[None])]
    misfits = [(SIZES * (law(SIZES, *found) - errors) ** 2).sum() for found in (ours, theirs)]
    assert misfits[0] <= 1.01 * misfits[1] + 1e-6


@given(errors=st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_any_curve_gives_a_law_that_does_not_rise(errors):
    a, b, c = fit_power_law(SIZES, np.array([errors]))
    assert a[0] >= 0
    assert b[0] >= 0
    assert 0.05 <= c[0] <= 2.01


def corpus(count, seed=0):
    """Documents of five labels, each with words of its own in noise: more of them teach more words."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(5, size=count)
    contents = [
        [f"l{label}-{generator.integers(60)}" for _ in range(3)] + [f"n{generator.integers(200)}" for _ in range(8)]
        for label in labels
    ]
    documents = [Document(tokens=tuple(content)) for content in contents]
    encoded = DocumentEncoder(LinearModelConfig().text.replace(tokenizer="none"), {}).encode(documents)
    names = tuple("abcde")
    return Examples(encoded, csr_array(np.eye(5, dtype=bool)[labels])), Classes(
        names, Taxonomy.from_edges((), labels=names)
    )


def test_more_documents_help_and_twice_as_many_are_foretold(tmp_path):
    examples, classes = corpus(600)
    config = LinearModelConfig(linear={"C": 1.0})
    found = learning_curve(config, examples, classes, np.arange(600) % 5, FitContext(tmp_path))
    assert [point.documents for point in found.points] == [30, 60, 120, 240, 480]
    assert found.points[-1].micro_f1 > found.points[0].micro_f1 + 0.1
    for forecast in (found.micro, found.macro):
        assert forecast.low <= forecast.f1 <= forecast.high
        assert forecast.f1 >= forecast.now
    assert {curve.label for curve in found.labels} == set(range(5))
    gains = [curve.forecast.f1 - curve.forecast.now for curve in found.labels]
    assert gains == sorted(gains, reverse=True)
    larger, _ = corpus(1200)
    again = learning_curve(config, larger, classes, np.arange(1200) % 5, FitContext(tmp_path))
    assert found.micro.low - 0.02 <= again.micro.now <= found.micro.high + 0.02


def test_with_few_documents_there_is_no_curve(tmp_path):
    examples, classes = corpus(FEWEST - 1)
    folds = np.arange(FEWEST - 1) % 5
    assert learning_curve(LinearModelConfig(), examples, classes, folds, FitContext(tmp_path)) is None
