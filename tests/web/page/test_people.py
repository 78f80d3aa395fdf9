"""People with a keyboard only, with a phone, at night."""

import re

import pytest

pytestmark = pytest.mark.slow


def test_the_keyboard_is_enough(open_page):
    page = open_page()
    page.wait_for_selector("#model-field:not([hidden])")

    def tab_to(selector):
        for _ in range(40):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"no way to {selector}")

    tab_to("#text")
    page.keyboard.type("The striker scored for his club.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#bars table")
    tab_to("#threshold")
    assert page.eval_on_selector("#threshold", "one => getComputedStyle(one).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    assert "at the threshold" in page.inner_text("#count")
    tab_to("#trained")
    page.keyboard.press("Enter")
    assert "as the model was trained" in page.inner_text("#count")
    tab_to(".tree .label[aria-pressed=false]")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.matches('.tree .label[aria-pressed=true]')")
    tab_to("#graph-part summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#graph")
    tab_to("#graph")
    page.keyboard.press("+")
    assert "scale(1.25)" in page.locator("#graph > g").get_attribute("transform")


def test_a_phone_at_night(open_page, tmp_path):
    page = open_page(viewport={"width": 360, "height": 740}, color_scheme="dark", has_touch=True)
    page.label()
    page.click("#matrix-part summary")
    page.click("#graph-part summary")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    red, green, blue = map(
        int, re.findall(r"\d+", page.eval_on_selector("body", "one => getComputedStyle(one).backgroundColor"))[:3]
    )
    assert max(red, green, blue) < 60
    left, right = (page.locator(part).bounding_box() for part in ("#results > :first-child", "#reasons"))
    assert right["y"] >= left["y"] + left["height"]
    page.screenshot(path=tmp_path / "phone.png", full_page=True)
    assert (tmp_path / "phone.png").stat().st_size > 10_000
