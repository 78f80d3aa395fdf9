"""Nothing that a document says can break a page."""

import json
import re

import pytest

from taxocaps.report.page_template import fill_template

TEMPLATES = ["graph_page.html", "explanation_page.html"]
ODD = ["</script><script>alert(1)</script>", "{{data}} {{title}}", "\u2028 \\1 \\g<0>", "<!--", "\ud800"]


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("text", ODD)
def test_text_stays_text(name, text):
    page = fill_template(name, text, {"text": text})
    assert json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1)) == {"text": text}
    assert page.count("<script") == page.count("</script>") == 2
    assert "<!--" not in page
    page.encode("utf-8")


@pytest.mark.parametrize("name", TEMPLATES)
def test_nothing_is_loaded_from_elsewhere(name):
    page = fill_template(name, "title", {})
    assert not re.search(r'(src|href)\s*=\s*"|@import|url\((?!#)', page)
    assert set(re.findall(r"https?://[^\"' ]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "{{" not in page
