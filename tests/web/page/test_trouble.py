"""What goes wrong is told in words, and nothing that a document says is run."""

import json

import pytest

pytestmark = pytest.mark.slow


EVIL = "<img src=x onerror=\"document.title='broken'\"> striker club <script>document.title='broken'</script>"


def test_what_a_document_says_is_never_run(open_page):
    page = open_page()
    page.label(EVIL)
    assert page.inner_text("#tinted") == EVIL
    page.set_input_files(
        "#file",
        {
            "name": "evil.jsonl",
            "mimeType": "text/plain",
            "buffer": "\n".join(json.dumps({"id": EVIL, "text": EVIL}) for _ in range(2)).encode(),
        },
    )
    page.wait_for_selector("#documents:not([hidden])")
    page.wait_for_selector("#bars table")
    assert page.locator("main img, main script").count() == 0


FILES = {
    "worse.jsonl": (b"{", "worse.jsonl, line 1: invalid JSON"),
    "long.csv": (b"id,text\n1,a,b", "long.csv, line 2: 3 cells, but the header has 2."),
    "picture.png": (b"\x89PNG\r\n\x1a\n\0\0\0", "picture.png: is no text; send a text, or one of .jsonl"),
    "none.jsonl": (b"\n", "none.jsonl: has no documents"),
}


def test_mistakes_are_told_in_words(open_page):
    page = open_page(errors=len(FILES))  # the browser itself notes each answer that is an error
    page.click("#go")
    assert "no text yet" in page.inner_text("#error")
    for name, (content, message) in FILES.items():
        page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content})
        page.wait_for_function("message => document.getElementById('error').textContent.includes(message)", arg=message)
    page.label()
    assert not page.is_visible("#error")
    lines = b'{"text": "striker"}\n{"txt": 1}'
    page.set_input_files("#file", {"name": "bad.jsonl", "mimeType": "text/plain", "buffer": lines})
    page.wait_for_selector("#notes:has-text('1 record could not be read, the first: bad.jsonl, line 2: no field')")
    assert page.input_value("#text") == "striker"


def test_errors_of_the_server_are_told_in_words(open_page, serve, running):
    small = serve(*running.service.models.values(), text_length=200, explain_words=5)
    page = open_page(small, errors=1)  # the browser itself notes each answer that is an error
    page.fill("#text", "striker " * 20)
    page.click("#go")
    page.wait_for_selector("#why-error:has-text('at most 5 can be explained')")
    assert page.given()
    page.fill("#text", "x" * 201)
    page.click("#go")
    page.wait_for_selector("#error:has-text('Document 1: at most 200 characters; got 201.')")
    assert not page.is_visible("#progress")
    asked = len(page.requests)
    rows = f"id,text\ngood,{'🐈' * 200}\nbad,{'🐈' * 201}\n"
    page.set_input_files("#file", {"name": "many.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.wait_for_selector("#error:has-text('Document bad: at most 200 characters; got 201.')")
    assert [url.rpartition("/")[2] for url in page.requests[asked:]] == ["documents"]  # no labels were asked for


def test_a_document_that_fits_into_no_request_is_named(open_page, serve, slate):
    page = open_page(serve(slate.served(), body_bytes=2_000))
    page.wait_for_selector("#model-field:not([hidden])")
    page.fill("#text", "é" * 800)
    page.click("#go")
    page.wait_for_selector("#error:has-text('Document 1: at most 2,000 bytes; got 2,')")
    assert slate.batches == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_busy_server_is_asked_once_more(open_page, times, text):
    page = open_page(errors=times)
    page.wait_for_selector("#model-field:not([hidden])")
    busy = {"status": 503, "headers": {"Retry-After": "0.2"}, "json": {"error": {"message": "the queue is full"}}}
    page.route("**/v1/predict", lambda route: route.fulfill(**busy), times=times)
    if times == 1:
        page.label()
        assert page.given()
    else:
        page.fill("#text", text)
        page.click("#go")
        page.wait_for_selector("#error:has-text('The queue is full.')")


def test_a_server_that_is_gone(open_page, serve, running, text):
    gone = serve(*running.service.models.values())
    page = open_page(gone, errors=1)
    page.wait_for_selector("#model-field:not([hidden])")
    gone.server.stop()
    gone.thread.join(10)
    page.fill("#text", text)
    page.click("#go")
    page.wait_for_selector("#error:has-text('cannot be reached')")


def test_waiting_shows_and_a_second_request_replaces_the_first(open_page, serve, slate):
    page = open_page(serve(slate.served()))
    page.wait_for_selector("#model-field:not([hidden])")
    slate.open.clear()
    page.fill("#text", "b")
    page.click("#go")
    page.wait_for_selector("#progress:not([hidden])")
    assert page.inner_text("#status") == "Labelling 1 document…"
    assert page.get_attribute("#go", "aria-busy") == "true"
    page.fill("#text", "a")
    page.click("#go")
    slate.open.set()
    page.wait_for_selector(".tree [data-label=a]")
    page.wait_for_timeout(200)
    assert page.given() == {"a"}
    assert not page.is_visible("#progress")


def test_the_token_is_asked_for_and_sent(open_page, serve, running):
    guarded = serve(*running.service.models.values(), token="s3cret")
    page = open_page(guarded, errors=2)
    page.wait_for_selector("#token-form:not([hidden])")
    assert not page.is_visible("#error")
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#error:has-text('does not accept this token')")
    asked = len(page.requests)
    for strange in ("s3crét", "s3 cret", "„s3cret“"):
        page.fill("#token", strange)
        page.keyboard.press("Enter")
        page.wait_for_selector("#error:has-text('only letters, digits and signs of ASCII')")
        page.eval_on_selector("#error", "one => { one.textContent = ''; }")
    assert len(page.requests) == asked
    page.fill("#token", "s3cret")
    page.keyboard.press("Enter")
    page.wait_for_selector("#token-form", state="hidden")
    page.label()
    assert page.given()
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
