"""PDF, DOCX, HTML and spreadsheets: their texts are read, and what is damaged or huge is refused in one line."""

import io
import re
import zipfile

import pytest

from taxocaps.corpus.document_files import read_document, text_of
from taxocaps.corpus.readers import CorpusConfig, read_documents
from taxocaps.errors import CorpusError, FileError

PAGE = """<!doctype html><html><head><title>News</title><style>p {color: red}</style><script>alert(1)</script></head>
<body><!-- hidden --><h1>Oil</h1><p>Crude prices <b>rose</b> again.</p><ul><li>one<li>two</ul></body></html>"""


def pdf(text, pages=1):
    """A small PDF, written by hand."""
    streams = [f"BT /F1 12 Tf 72 720 Td ({text} {page}) Tj ET".encode() for page in range(1, pages + 1)]
    kids = " ".join(f"{4 + 2 * page} 0 R" for page in range(pages))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode()]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for page, stream in enumerate(streams):
        resources = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 612 792]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * page} 0 R >>".encode())
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    content, offsets = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n" % (count, table, count)
    return content + end + b"startxref\n%d\n%%%%EOF\n" % len(content)


def docx_file(*paragraphs):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    document.add_table(1, 2).rows[0].cells[1].text = "in a table"
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


@pytest.fixture
def sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def write(*rows):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(tmp_path / "d.xlsx")
        return tmp_path / "d.xlsx"

    return write


def test_pages_of_a_pdf(tmp_path):
    (tmp_path / "d.pdf").write_bytes(pdf("Crude prices rose", pages=2))
    assert read_document(tmp_path / "d.pdf").split() == ["Crude", "prices", "rose", "1", "Crude", "prices", "rose", "2"]


def test_paragraphs_and_tables_of_a_word_file():
    assert text_of(docx_file("Crude prices", "rose again"), ".DOCX", "d") == "Crude prices\nrose again\n\tin a table"


def test_what_a_reader_sees_of_a_web_page():
    assert text_of(PAGE.encode(), ".html", "d") == "News\nOil\nCrude prices rose again.\none\ntwo"
    assert text_of("<p>Öl für Köln".encode(), ".html", "d") == "Öl für Köln"
    assert text_of("<p>Öl für Köln".encode("cp1252"), ".html", "d") == "Öl für Köln"
    latin = '<html><head><meta charset="iso-8859-1"></head><body>Öl für Köln</body></html>'.encode("latin-1")
    assert text_of(latin, ".htm", "d") == "Öl für Köln"


@pytest.mark.parametrize(
    ("content", "suffix", "message"),
    [
        (b"no pdf", ".pdf", "d: cannot be read as PDF"),
        (pdf("x")[:200], ".pdf", "d: "),
        (b"PK\x03\x04 no archive", ".docx", "d: cannot be read"),
        (b"", ".html", "d: has no text"),
        (b"<html><script>x</script></html>", ".html", "d: has no text"),
        (pdf("").replace(b"( 1)", b"(  )"), ".pdf", "d: has no text; if its pages are pictures"),
    ],
)
def test_what_cannot_be_read(content, suffix, message):
    with pytest.raises(FileError, match=message) as caught:
        text_of(content, suffix, "d")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".docx", ".xlsx"])
def test_an_archive_that_unpacks_to_gigabytes_is_refused(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("taxocaps.untrusted._MOST_UNPACKED", 1_000_000)
    path = tmp_path / f"bomb{suffix}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 2_000_000)
    with pytest.raises((FileError, CorpusError), match="unpacks to more than 1,000,000 bytes"):
        list(read_documents(path))


@pytest.mark.parametrize("suffix", [".docx", ".xlsx"])
def test_an_archive_of_a_version_that_does_not_exist_is_refused(tmp_path, suffix):
    path = tmp_path / f"new{suffix}"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", b"0")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 84  # the version needed to extract, in the directory
    path.write_bytes(content)
    with pytest.raises((FileError, CorpusError), match=r"cannot be read.*zip file version 8\.4"):
        list(read_documents(path))


def test_a_file_of_many_letters_is_refused(monkeypatch):
    monkeypatch.setattr("taxocaps.corpus.document_files._MOST_LETTERS", 10)
    with pytest.raises(FileError, match="d: has more than 10 characters"):
        text_of(pdf("Crude prices rose"), ".pdf", "d")
    monkeypatch.setattr("taxocaps.corpus.document_files._MOST_PAGES", 1)
    with pytest.raises(FileError, match="d: has 2 pages; at most 1 are read"):
        text_of(pdf("a", pages=2), ".pdf", "d")


def test_documents_of_a_folder(tmp_path):
    (tmp_path / "oil").mkdir()
    (tmp_path / "oil" / "a.pdf").write_bytes(pdf("Crude prices rose"))
    (tmp_path / "oil" / "b.html").write_text(PAGE)
    (tmp_path / "oil" / "c.txt").write_text("plain")
    (tmp_path / "oil" / "picture.png").write_bytes(b"\x89PNG")
    found = list(read_documents(tmp_path))
    assert [(one.id, one.labels) for one in found] == [("oil/a", ("oil",)), ("oil/b", ("oil",)), ("oil/c", ("oil",))]
    (tmp_path / "oil" / "d.pdf").write_bytes(b"%PDF damaged")
    with pytest.raises(CorpusError, match=r"d\.pdf: cannot be read as PDF.*--on-error skip"):
        list(read_documents(tmp_path))
    assert len(list(read_documents(tmp_path, CorpusConfig(on_error="skip")))) == 3


def test_rows_of_a_spreadsheet(sheet):
    path = sheet(["Nr", "Title", "Body", "Tags"], [1, "Oil", "Prices rose", "a; b"], [], [2, None, 5, None])
    first, second = read_documents(path, CorpusConfig(id_field="Nr"))
    assert (first.id, first.text, first.labels) == ("1", "Oil\nPrices rose", ("a", "b"))
    assert (second.id, second.text, second.labels) == ("2", "5", None)


def test_spreadsheets_that_cannot_be_read(sheet, tmp_path):
    with pytest.raises(CorpusError, match="no documents"):
        list(read_documents(sheet(["text"])))
    with pytest.raises(CorpusError, match=r"row 1: no field 'boddy'.*did you mean 'body'"):
        list(read_documents(sheet(["body"], ["x"]), CorpusConfig(text_field="boddy")))
    (tmp_path / "d.xlsx").write_bytes(b"no archive")
    with pytest.raises(FileError, match=r"d\.xlsx: cannot be read"):
        list(read_documents(tmp_path / "d.xlsx"))


def test_a_spreadsheet_without_sheets_is_refused_in_one_line(tmp_path, sheet):
    with zipfile.ZipFile(sheet(["text"], ["oil"])) as book:
        members = {name: book.read(name) for name in book.namelist()}
    members["xl/workbook.xml"] = re.sub(b"<sheet .*?/>", b"", members["xl/workbook.xml"])
    with zipfile.ZipFile(tmp_path / "d.xlsx", "w") as book:
        for name, content in members.items():
            book.writestr(name, content)
    with pytest.raises(FileError, match=r"d\.xlsx: the spreadsheet has no sheet; save it again with one"):
        list(read_documents(tmp_path / "d.xlsx"))


def changed(content, name, change):
    """An archive in which one file is another."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for one in old.namelist():
            new.writestr(one, change(old.read(one)) if one == name else old.read(one))
    return file.getvalue()


@pytest.mark.parametrize("told", [b'ref="A1:B2"', b'ref="A1:XFD1048576"'])
def test_what_a_spreadsheet_says_of_its_size_is_not_believed(sheet, told):
    path = sheet(("id", "text"), ("1", "a"), ("2", "b"))
    content = changed(path.read_bytes(), "xl/worksheets/sheet1.xml", lambda xml: xml.replace(b'ref="A1:B3"', told))
    assert content != path.read_bytes()
    path.write_bytes(content)
    assert [one.text for one in read_documents(path)] == ["a", "b"]


def test_a_cell_at_the_far_end_of_a_spreadsheet_takes_no_time(sheet):
    path, far = sheet(("id", "text"), ("1", "a")), b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    path.write_bytes(
        changed(path.read_bytes(), "xl/worksheets/sheet1.xml", lambda xml: xml.replace(b"</sheetData>", far))
    )
    assert [one.text for one in read_documents(path)] == ["a"]


def test_a_cell_that_spans_a_billion_columns_is_one(tmp_path):
    span = b'<w:tcPr><w:gridSpan w:val="1000000000"/>'
    content = changed(docx_file("a"), "word/document.xml", lambda xml: xml.replace(b"<w:tcPr>", span))
    assert text_of(content, ".docx", "d") == "a\n\tin a table"


@pytest.mark.parametrize("start", ["<p ", "<p x='>' ", '<p y=">"z/'])
def test_an_element_with_very_many_attributes_is_refused(start):
    pytest.importorskip("lxml.html")
    attributes = " ".join(f"a{number}" for number in range(200_000))
    with pytest.raises(FileError, match="d: has an element with more than 1,000 attributes"):
        text_of(f"{start}{attributes}>text".encode(), ".html", "d")
    pictures = "<p title='> 1,000'>" + f'<img src="data:{"a b/" * 9_000}">' * 3
    assert text_of(f"{pictures}Oil</p>".encode(), ".html", "d") == "Oil"


def test_a_pdf_that_is_drawn_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("taxocaps.corpus.document_files._MOST_OPERATIONS", 12)
    assert text_of(pdf("Crude", pages=2), ".pdf", "d").split() == ["Crude", "1", "Crude", "2"]
    with pytest.raises(FileError, match="d: draws its pages by more than 12 operations"):
        text_of(pdf("Crude", pages=3), ".pdf", "d")
    monkeypatch.setattr("taxocaps.corpus.document_files._LARGEST_PAGE", 30)
    with pytest.raises(FileError, match="d: has a page that is drawn by more than 30 bytes"):
        text_of(pdf("Crude"), ".pdf", "d")
