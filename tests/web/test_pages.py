"""The pages of the server: files of this package only, with headers that keep everything else out."""

import re

import pytest

from taxocaps.web.pages import PAGE_PATHS, docs_page


@pytest.fixture(scope="module")
def client(serve_all, new_slate):
    return serve_all(new_slate().served(), token="s3cret").client


@pytest.fixture(scope="module")
def files(client):
    return {path: client.get(path) for path in PAGE_PATHS}


def test_kinds_and_headers(files):
    kinds = {"": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
    assert {"/", "/page/app.js", "/page/page.css", "/page/style.css", "/page/explanation.js"} <= set(files)
    for path, answer in files.items():
        assert answer.status_code == 200
        assert answer.headers["content-type"].partition(";")[0] == kinds[path.partition(".")[2]]
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-cache"


def test_what_a_browser_has_is_not_sent_again(client):
    first = client.get("/page/app.js")
    again = client.get("/page/app.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/page/page.css", headers={"if-none-match": first.headers["etag"]}).status_code == 200


def test_whatever_the_files_name_is_there_and_nothing_is_elsewhere(files):
    for path, answer in files.items():
        named = re.findall(r'(?:src|href)="([^"]+)"|from "([^"]+)"', answer.text)
        for target in ("".join(pair) for pair in named):
            place = f"/page/{target[2:]}" if target.startswith("./") else f"/{target}"
            assert place in files or target in ("docs", "./"), f"{path} names {target}"  # the API, the first page
        assert set(re.findall(r"https?://[^\"' >]+", answer.text)) <= {"http://www.w3.org/2000/svg"}


def test_no_script_or_style_in_the_page_itself_and_no_html_from_texts(files):
    assert not re.search(r"<script>|<style|\son\w+=|style=", files["/"].text)
    for path, answer in files.items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", answer.text), path


def test_other_files_of_the_package_are_not_sent(client):
    for path in ("/page/", "/page/index.html", "/page/../api.py", "/page/%2e%2e/api.py", "/page/pages.py"):
        assert client.get(path, headers={"authorization": "Bearer s3cret"}).status_code == 404


def test_the_page_wants_no_token_and_what_it_asks_does(client):
    assert {client.get(path).status_code for path in PAGE_PATHS} == {200}
    assert client.get("/v1/models").status_code == client.get("/openapi.json").status_code == 401


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
    assert "{&#34;f&#34;: 1}" in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "t&lt;b&gt;" in text


def test_the_docs_of_a_server_load_its_own_style_and_nothing_else(client):
    answer = client.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert re.findall(r"<h2>(.*?)</h2>", answer.text)[0] == "POST /v1/predict"
    assert not re.search(r"<(script|style|img|iframe)|@import|url\(", answer.text)
    assert {f"/{target}" for target in re.findall(r'<link[^>]* href="([^"]+)"', answer.text)} <= PAGE_PATHS


def test_the_docs_describe_every_field_and_show_every_post_with_a_body(client):
    operations = client.get("/docs").text.split("<h2>")[1:]
    assert not [one for one in operations if "<dd></dd>" in one]
    posts = [one for one in operations if one.startswith("POST ")]
    assert posts
    assert not [one for one in posts if "curl -X POST" not in one]
