"""Documents in and out: dropped and pasted files, columns of tables, downloads."""

import csv
import json
from dataclasses import replace

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
    page.fill("#text", "An old text.")
    rows = 'id,text\r\nfirst,"The striker, ""scored""\nfor his club."\r\n,Astronomers saw a comet.\r\n"third",\r\n'
    page.set_input_files("#file", {"name": "many.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.wait_for_selector("#bars table")
    assert "3 documents" in page.inner_text("#many-name")
    assert page.input_value("#text") == ""
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
    page.click("#table tbody tr:nth-child(3)")
    assert "No labels: the text has no words" in page.inner_text("#count")


def test_cells_that_look_like_formulas(open_page):
    page = open_page()
    found = page.evaluate(
        """async documents => {
        const { asCsv } = await import("/page/downloads.js");
        const model = { card: { name: "m" }, name: () => "t", paths: label => [[label]], positions: new Map(),
            scoresOf: one => one.scores };
        const scored = documents.map(one => ({ ...one, scores: new Map([["@b", -0.5]]) }));
        return asCsv(model, scored, () => new Set(["@b"])); }""",
        [{"id": "=1+1", "text": "a\tb"}, {"id": "-2", "text": "d, e"}],
    )
    rows = [(row["id"], row["label"], row["score"]) for row in csv.DictReader(found.splitlines())]
    assert rows == [("'=1+1", "'@b", "-0.5"), ("'-2", "'@b", "-0.5")]


@pytest.fixture(scope="module")
def small(serve_all, loaded_news):
    """A server that takes only small requests."""
    return serve_all(replace(loaded_news, feedback=None), body_bytes=20_000)


def file(name, content):
    return {"name": name, "mimeType": "text/plain", "buffer": content.encode("cp1252")}


def labelled(page, number):
    # "Labelling 2 documents…" is not the end of it.
    page.wait_for_selector(f"#status:has-text('{number} document{'' if number == 1 else 's'} labelled by')")
    page.wait_for_selector("#why-status:empty", state="attached")


def test_columns_are_recognised_and_others_can_be_chosen(open_page, small):
    page = open_page(small)
    table = "nr;headline;body;note\na;Goal;The striker für uns.;club\nb;Sky;Astronomers saw a comet.;star\n"
    page.set_input_files("#file", file("some.csv", table))
    labelled(page, 2)
    assert page.inner_text("#columns-used") == "Text from headline and body"
    assert page.saved_ids() == ["1", "2"]
    page.click("#columns summary")
    page.uncheck("#text-columns [value=headline]")
    page.set_checked("#text-columns [value=note]", True)
    page.select_option("#id-column", "nr")
    page.click("#use-columns")
    page.wait_for_selector("#columns-used:has-text('Text from body and note')")
    labelled(page, 2)
    assert page.saved_ids() == ["a", "b"]
    assert page.inner_text("#tinted") == "The striker für uns.\nclub"


def test_a_table_that_does_not_tell_its_text_asks_for_it(open_page, small):
    page = open_page(small)
    page.label("The striker scored.")
    page.set_input_files("#file", file("some.csv", "a,b\n1,striker\n2,comet\n"))
    page.wait_for_selector("#columns[open] summary:has-text('Which columns make the text?')")
    assert page.input_value("#text") == ""
    assert not page.is_visible("#results")
    page.set_checked("#text-columns [value=b]", True)
    page.click("#use-columns")
    labelled(page, 2)
    assert page.inner_text("#tinted") == "striker"


def test_several_files_and_pasted_ones(open_page, small):
    page = open_page(small)
    page.set_input_files("#file", [file("a.txt", "The striker."), file("b.jsonl", '{"id": 7, "text": "A comet."}')])
    labelled(page, 2)
    assert page.inner_text("#many-name") == "2 files: 2 documents"
    assert page.saved_ids() == ["a.txt", "7"]
    page.evaluate(
        """() => { const clipboardData = new DataTransfer();
        clipboardData.items.add(new File(["A pasted striker."], "c.txt"));
        const pasted = new ClipboardEvent("paste", { clipboardData, bubbles: true });
        document.getElementById("text").dispatchEvent(pasted); }"""
    )
    page.wait_for_function("() => document.getElementById('text').value === 'A pasted striker.'")
    labelled(page, 1)
    assert page.saved_ids() == ["c.txt"]


def test_of_a_large_file_of_lines_the_beginning_is_read_and_others_are_refused(open_page, small):
    page = open_page(small)
    lines = "".join(json.dumps({"id": number, "text": "striker " * 50}) + "\n" for number in range(100))
    page.set_input_files("#file", file("many.jsonl", lines))
    page.wait_for_selector("#notes:has-text('Only the first 0.011 MB of many.jsonl were read.')")
    labelled(page, 26)
    page.set_input_files("#file", file("story.txt", lines))
    page.wait_for_selector("#error:has-text('story.txt is larger than 0.011 MB')")


def test_a_web_page_and_a_damaged_pdf_are_no_raw_bytes(open_page):
    page = open_page(errors=1)  # the browser itself notes the answer that is an error
    content = "<html><script>alert(1)</script><body><p>The striker</p> scored für uns.</body></html>".encode()
    page.set_input_files("#file", {"name": "news.html", "mimeType": "text/html", "buffer": content})
    page.wait_for_function("() => document.getElementById('text').value === 'The striker\\nscored für uns.'")
    page.set_input_files("#file", {"name": "scan.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 damaged"})
    page.wait_for_selector("#error:has-text('scan.pdf: cannot be read as PDF')", state="attached")
