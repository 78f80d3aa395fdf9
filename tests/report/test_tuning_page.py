"""The page about a search shows its history, its options and all trials, whatever they are called."""

import pytest

from taxocaps.report.tuning_page import tuning_page
from taxocaps.results import Trial, Tuning

EVIL = "<script>alert('x')</script>"
TRIALS = (
    Trial(0, "complete", {"linear.C": 1.0, "bag.counts": "all"}, 0.8, 5, 1.5),
    Trial(1, "complete", {"linear.C": 10.0, "bag.counts": EVIL}, 0.85, 5, 1.5),
    Trial(2, "pruned", {"linear.C": 0.03, "bag.counts": "all"}, 0.81, 2, 0.5),
    Trial(3, "failed", {"linear.C": 0.3, "bag.counts": "all"}, None, 0, 0.1, EVIL),
)
TUNING = Tuning(
    out="search",
    model="SVM",
    metric="micro-f1",
    measured_on="training documents out of fold",
    space={"linear.C": "0.03 to 30, by factors", "bag.counts": f"all, {EVIL}"},
    trials=TRIALS,
    best=TRIALS[1],
    given=TRIALS[0],
    importance={"linear.C": 0.75, "bag.counts": 0.25},
    config="linear:\n  C: 10.0\n",
)


def test_no_text_can_start_a_script():
    page = tuning_page(TUNING)
    assert page.count("<script") == page.count("</script>") == 2


@pytest.mark.slow
def test_the_search_is_shown(visit):
    page = visit(tuning_page(TUNING))
    assert page.locator("#trials tbody tr").count() == 4
    assert page.locator("#history svg").count() == 1
    assert page.locator("#options svg").count() == 2
    for place, words in {
        "#about": "4 trials with the options of SVM",
        "#tiles": "0.8500",
        "#best": "C: 10.0",
        "#importance": "0.75",
        "#trials": f"failed: {EVIL}",
    }.items():
        assert words in page.locator(place).text_content()


@pytest.mark.slow
def test_a_single_trial_is_enough(visit):
    few = Tuning(**{**vars(TUNING), "trials": TRIALS[:1], "best": TRIALS[0], "given": None, "importance": {}})
    page = visit(tuning_page(few))
    assert "too few different trials" in page.locator("#importance-about").text_content()


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.slow
def test_the_page_is_no_wider_than_the_window(visit, width):
    page = visit(tuning_page(TUNING))
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
