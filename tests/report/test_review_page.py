"""The page about a corpus shows all findings, whatever documents and labels are called."""

from dataclasses import replace

import pytest

from taxocaps.report.review_page import review_page
from taxocaps.reviewing.curve import CurvePoint, Forecast
from taxocaps.reviewing.findings import (
    ConfusedLabels,
    CopiedDocument,
    CopyGroup,
    DoubtfulDocument,
    LabelForecast,
    LabelSuspect,
    MissingChild,
    NextDocument,
    RareLabel,
    Review,
    ReviewCurve,
)

EVIL = "<script>alert('x')</script>"
FORECAST = Forecast(0.8, 0.85, 0.82, 0.9, -0.01)
REVIEW = Review(
    model="auto",
    folds=5,
    documents=600,
    labels=3,
    assignments=700,
    micro_f1=0.8,
    macro_f1=0.6,
    doubtful=12,
    suspects=tuple(
        LabelSuspect("wrong" if number % 2 else "forgotten", f"d{number}", "a", EVIL, 0.01, 0.9, ("b",), EVIL)
        for number in range(120)
    ),
    copies=(CopyGroup(True, (CopiedDocument("1", ("a",)), CopiedDocument("2", ())), "text"),),
    wordless=(DoubtfulDocument("3", None, ""),),
    foreign=(DoubtfulDocument("4", "de", "Der"),),
    missing_children=(MissingChild("5", "a", "A", "a1", "A one", 0.7),),
    rare=(RareLabel("c", "C", 2),),
    unused=("z",),
    confused=(ConfusedLabels("a", "A", "b", "B", 3, 10),),
    curve=ReviewCurve(
        (CurvePoint(60, 0.5, 0.3), CurvePoint(480, 0.79, 0.55)),
        FORECAST,
        replace(FORECAST, now=0.6, f1=0.7, low=0.6, high=0.75),
        (LabelForecast("a", "A", 99, (0.5, 0.8), FORECAST),),
    ),
    next=(NextDocument("p1", None, None, 0.0, 0, 2.5, "pool"),),
)


def test_no_text_can_start_a_script():
    page = review_page(REVIEW, EVIL)
    assert page.count("<script") == page.count("</script>") == 2
    assert "default-src 'none'" in page


@pytest.mark.slow
def test_findings_are_shown_and_can_be_looked_through(visit):
    page = visit(review_page(REVIEW, "corpus.jsonl"))
    assert page.locator("#suspects tbody tr").count() == 50
    page.locator("#more").click()
    assert page.locator("#suspects tbody tr").count() == 120
    page.locator("#kind").select_option("wrong")
    assert page.locator("#shown").text_content() == "50 of 60 shown"
    page.locator("#filter").fill("d119")
    assert page.locator("#suspects tbody tr").count() == 1
    assert EVIL in page.locator("#suspects tbody tr").text_content()
    for place, words in {
        "#curve-about": "micro-F1 0.800 with all documents, 0.850 with twice as many (0.820 to 0.900)",
        "#copies": "1: a; 2: none",
        "#odd": "looks like de",
        "#children": "A one (a1)",
        "#confused": "B (b)",
        "#rare": "C (c)",
        "#next": "no probable label",
        "#gains": "+0.050",
    }.items():
        assert words in page.locator(place).text_content()
    assert page.locator("#curve-plots .interval").count() == 2


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.slow
def test_the_page_is_no_wider_than_the_window(visit, width):
    page = visit(review_page(REVIEW, "corpus.jsonl"))
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_a_clean_corpus_has_an_empty_page(visit):
    nothing = dict.fromkeys(("suspects", "copies", "wordless", "foreign", "missing_children", "rare", "unused"), ())
    page = visit(review_page(replace(REVIEW, **nothing, confused=(), next=(), curve=None), "corpus.jsonl"))
    assert page.locator("#suspects-about").text_content() == "No label looks wrong or forgotten."
    assert "too few documents for a learning curve" in page.locator("#curve-about").text_content()
    assert page.locator("#suspects tbody tr").count() == 0
