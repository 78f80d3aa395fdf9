"""Documents in and out: dropped files, tables of many documents, downloads."""

import csv
import json

import pytest

pytestmark = pytest.mark.slow


DROP = """([selector, name, text]) => { const data = new DataTransfer();
    if (name) data.items.add(new File([text], name)); else data.setData("text", text);
    const event = kind => new DragEvent(kind, { dataTransfer: data, cancelable: true, bubbles: true });
    const place = document.querySelector(selector);
    return [place.dispatchEvent(event("dragover")), place.dispatchEvent(event("drop"))]; }"""


def test_a_file_is_dropped_and_keeps_its_name_until_its_text_is_changed(open_page, text):
    page = open_page()
    assert page.evaluate(DROP, ["main", "story.txt", text]) == [False, False]
    page.wait_for_selector("#bars table")
    assert page.input_value("#text") == text
    assert page.inner_text("#tinted") == text
    assert page.saved_ids() == ["story.txt"]
    page.label(text + " Again.")
    page.wait_for_function("() => document.getElementById('tinted').textContent.endsWith('Again.')")
    assert page.saved_ids() == ["1"]


def test_a_text_that_is_dragged_is_left_to_the_browser(open_page, text):
    page = open_page()
    page.fill("#text", text)
    assert page.evaluate(DROP, ["#text", None, "striker"]) == [True, True]
    assert page.input_value("#text") == text
    assert "dropping" not in (page.get_attribute("body", "class") or "")


def test_a_file_of_many_documents_and_downloads(open_page, running):
    page = open_page()
    rows = 'id,text\r\nfirst,"The striker, ""scored""\nfor his club."\r\n,Astronomers saw a comet.\r\n"third",\r\n'
    page.set_input_files("#file", {"name": "many.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.wait_for_selector("#bars table")
    assert "3 documents" in page.inner_text("#many-name")
    assert page.inner_text("#tinted") == 'The striker, "scored"\nfor his club.'
    documents = [
        {"id": "first", "text": 'The striker, "scored"\nfor his club.'},
        {"id": "2", "text": "Astronomers saw a comet."},
        {"id": "third", "text": ""},
    ]
    wanted = running.client.post("/v1/predict", json={"documents": documents}).json()
    with page.expect_download() as download:
        page.click("#save-json")
    found = json.loads(download.value.path().read_text())
    assert [
        (one["id"], [(label["label"], label["name"], label["paths"]) for label in one["labels"]])
        for one in found["predictions"]
    ] == [
        (one["id"], [(label["label"], label["name"], label["paths"]) for label in one["labels"]])
        for one in wanted["predictions"]
    ]
    with page.expect_download() as download:
        page.click("#save-csv")
    lines = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert len(lines) == sum(len(one["labels"]) or 1 for one in wanted["predictions"])
    assert lines[-1] == {"id": "third", "label": "", "name": "", "score": "", "paths": ""}
    page.select_option("#document", "2")
    assert "No labels: the text has no words" in page.inner_text("#count")


def test_tables_with_tabs_and_cells_that_look_like_formulas(open_page):
    page = open_page()
    found = page.evaluate(
        """async text => {
        const { readFile } = await import("/page/documents.js"), { asCsv } = await import("/page/downloads.js");
        const { documents } = await readFile(new File([text], "some.TSV"));
        const model = { card: { name: "m" }, name: () => "t", paths: label => [[label]], positions: new Map(),
            scoresOf: one => one.scores };
        const scored = documents.map(one => ({ ...one, scores: new Map([["@b", -0.5]]) }));
        return [documents, asCsv(model, scored, () => new Set(["@b"]))]; }""",
        'id\ttext\n=1+1\t"a\tb"\n-2\td, e\n',
    )
    assert found[0] == [{"id": "=1+1", "text": "a\tb"}, {"id": "-2", "text": "d, e"}]
    rows = [(row["id"], row["label"], row["score"]) for row in csv.DictReader(found[1].splitlines())]
    assert rows == [("'=1+1", "'@b", "-0.5"), ("'-2", "'@b", "-0.5")]


def test_a_web_page_and_a_damaged_pdf_are_no_raw_bytes(open_page):
    page = open_page(errors=1)  # the browser itself notes the answer that is an error
    content = "<html><script>alert(1)</script><body><p>The striker</p> scored für uns.</body></html>".encode()
    page.set_input_files("#file", {"name": "news.html", "mimeType": "text/html", "buffer": content})
    page.wait_for_function("() => document.getElementById('text').value === 'The striker\\nscored für uns.'")
    page.set_input_files("#file", {"name": "scan.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 damaged"})
    page.wait_for_selector("#error:has-text('scan.pdf: cannot be read as PDF')", state="attached")
