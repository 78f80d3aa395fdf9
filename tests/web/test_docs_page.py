"""The description as a page."""

import re

from taxocaps.web.docs_page import docs_page

DESCRIPTION = {
    "info": {"title": "t<b>", "version": "1", "description": "d"},
    "paths": {
        "/a": {"get": {"description": "<script>", "parameters": [{"name": "q", "description": "what"}]}},
        "/b": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/x/Sent"}}}}}},
    },
    "components": {"schemas": {"Sent": {"properties": {"f": {"description": "field"}}, "examples": [{"f": 1}]}}},
}


def test_all_operations_with_their_fields_and_nothing_unescaped():
    text = docs_page(DESCRIPTION).body.decode()
    assert "GET /a" in text
    assert "POST /b" in text
    assert "<dt>q</dt><dd>what</dd>" in text
    assert "<dt>f</dt><dd>field</dd>" in text
    assert "{&quot;f&quot;: 1}" in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "t&lt;b&gt;" in text


def test_the_page_of_a_server_loads_nothing(serve, slate):
    answer = serve(slate.served()).client.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert re.findall(r"<h2>(.*?)</h2>", answer.text)[0] == "POST /v1/predict"
    assert not re.search(r"<(script|link|img|iframe)|@import|url\(", answer.text)
