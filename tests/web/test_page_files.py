"""The files of the page: all of this package, with headers that keep everything else out."""

import re
from importlib import resources

import pytest

from taxocaps.web.page_files import PAGE_PATHS


@pytest.fixture(scope="module")
def client(serve_all, new_slate):
    return serve_all(new_slate().served(), token="s3cret").client


@pytest.fixture(scope="module")
def files(client):
    return {path: client.get(path) for path in PAGE_PATHS}


def test_kinds_and_headers(files):
    kinds = {"": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
    assert {"/", "/page/app.js", "/page/page.css", "/page/graph_drawing.js"} <= set(files)
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
            assert place in files or place == "/docs", f"{path} names {target}"
        assert set(re.findall(r"https?://[^\"' >]+", answer.text)) <= {"http://www.w3.org/2000/svg"}


def test_no_script_or_style_in_the_page_itself_and_no_html_from_texts(files):
    assert not re.search(r"<script>|<style|\son\w+=|style=", files["/"].text)
    for path, answer in files.items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", answer.text), path


def test_scripts_are_short():
    for file in resources.files("taxocaps.web").joinpath("page").iterdir():
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 200, file.name


def test_other_files_of_the_package_are_not_sent(client):
    for path in ("/page/", "/page/index.html", "/page/../api.py", "/page/%2e%2e/api.py", "/page/page_files.py"):
        assert client.get(path, headers={"authorization": "Bearer s3cret"}).status_code == 404


def test_the_page_wants_no_token_and_what_it_asks_does(client):
    assert {client.get(path).status_code for path in PAGE_PATHS} == {200}
    assert client.get("/v1/model").status_code == client.get("/openapi.json").status_code == 401
