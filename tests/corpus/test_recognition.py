"""What is recognised in files as people have them, and that what is said of them is so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.readers import CorpusConfig, describe_file, read_documents, recognised
from taxocaps.corpus.recognition import _separator
from taxocaps.errors import TaxoCapsError

TABLE = """Nr;Titel;Volltext;Thema
1;Öl teurer;Die Preise für Öl steigen weiter an.;Handel, Öl
2;Tor;Der Stürmer traf.;Sport
"""


@pytest.fixture
def write(tmp_path):
    def call(name, content, encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return call


def read(path, **options):
    return list(read_documents(path, CorpusConfig(**options)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
def test_encodings(write, encoding):
    first, second = read(write("d.csv", "id;text;labels\n1;Öl für Köln;a\n2;so naïve;b\n", encoding))
    assert (first.text, second.text, second.labels) == ("Öl für Köln", "so naïve", ("b",))
    assert read(write("e.csv", "id;text\n1;so na\n2;naïve", encoding))[1].text == "naïve"
    text = write("d.txt", "Öl für Köln, und noch mehr davon", encoding)
    assert read(text)[0].text == "Öl für Köln, und noch mehr davon"


def test_one_damaged_record_does_not_make_another_encoding(write):
    lines = ['{"text": "Öl und Köln"}'.encode(), b'{"text": "na\xefve"}', '{"text": "für"}'.encode()]
    path = write("d.jsonl", b"\n".join(lines))
    assert [document.text for document in read(path, on_error="skip")] == ["Öl und Köln", "für"]


def test_a_table_as_a_spreadsheet_writes_it(write):
    path = write("d.csv", TABLE, "cp1252")
    first, second = read(path, text_field="Titel,Volltext", labels_field="Thema", id_field="Nr")
    assert first.text == "Öl teurer\nDie Preise für Öl steigen weiter an."
    assert (first.id, second.labels) == ("1", ("Sport",))
    assert describe_file(path, CorpusConfig()) == (
        f"{path} (cp1252, cells separated by semicolons): text from 'Titel' and 'Volltext', "
        "labels from 'Thema' separated by ';'"
    )


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        *(("Beschreibung", "Kategorie"), ("Texte", "Catégories"), ("Texto", "Etiquetas"), ("Inhalt", "SCHLAGWÖRTER")),
        *(
            ("Contenu", "Mots-clés"),
            ("Tekst", "Categorieën"),
            ("Testo", "Categoria"),
            ("Full text", "Subject headings"),
        ),
    ],
)
def test_columns_may_be_named_in_other_languages(write, text, labels):
    (document,) = read(write("d.csv", f"Notiz;{labels};{text}\nbis auf weiteres so abgelegt;öl;Öl wird teurer\n"))
    assert (document.text, document.labels) == ("Öl wird teurer", ("öl",))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_delimiters(write, delimiter, suffix):
    rows = [["id", "text", "labels"], ["1", '"a, b; c | d"', "x"], ["2", '"two ""words"" here\nand there"', "y"]]
    found = read(write(f"d.{suffix}", "\n".join(map(delimiter.join, rows))))
    assert [(one.id, one.text, one.labels) for one in found] == [
        ("1", "a, b; c | d", ("x",)),
        ("2", 'two "words" here\nand there', ("y",)),
    ]


def test_quotes_that_are_part_of_the_text(write):
    path = write("d.tsv", 'id\ttext\n1\t"Yes" he said\n2\t5" wide\n3\t"open\n')
    assert [document.text for document in read(path)] == ['"Yes" he said', '5" wide', '"open']
    assert "quotes are plain text" in describe_file(path)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("id,text,labels", ("text", "labels", "id")),
        ("ID,Body,Category", ("Body", "Category", "ID")),
        ("doc_id,title,abstract,topics", ("title,abstract", "topics", "doc_id")),
        ("Title,Abstract,Subject headings", ("Title,Abstract", "Subject headings", "id")),
        ("title,text,tags", ("text", "tags", "id")),
        ("headline,label", ("headline", "label", "id")),
        ("Ticket,Subject,Description,Category", ("Subject,Description", "Category", "id")),
        ("Ticket,Subject,Description", ("Subject,Description", "labels", "id")),
        ("title,abstract,subject", ("title,abstract", "subject", "id")),
        ("text,subject", ("text", "subject", "id")),
        ("a,b,c", ("b", "labels", "id")),
    ],
)
def test_columns(write, names, expected):
    cells = {"b": "a text that is longer than all the others"}
    path = write("d.csv", f"{names}\n{','.join(cells.get(name, 'x') for name in names.split(','))}\n")
    found = recognised(path, CorpusConfig())
    assert (found.text_field, found.labels_field, found.id_field) == expected


def test_what_is_given_as_text_is_not_taken_for_labels(write):
    path = write("d.csv", "topic,abstract\nx,y\n")
    assert recognised(path, CorpusConfig(text_field="topic,abstract")).labels_field == "labels"


def test_what_is_given_is_taken(write):
    path = write("d.csv", "text,body,labels,topics\nx,y,a,b;c\n")
    (found,) = read(path, text_field="body", labels_field="topics", label_separator="|")
    assert (found.text, found.labels) == ("y", ("b;c",))
    with pytest.raises(TaxoCapsError, match=r"no field 'boddy'.*did you mean 'body'"):
        read(path, text_field="boddy")
    with pytest.raises(TaxoCapsError, match=r"no field 'topiks' with the ids.*did you mean 'topics'.*--id-field"):
        read(path, id_field="topiks")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a;b", "c"], ";"),
        (["a|b", "c, d"], "|"),
        (["a|b; c"], ";"),
        (["a,b", "b", "a"], ","),
        (["a, b", "b, c", "a, c", "a, b, c"], ","),
        (["Trade, foreign", "Trade, domestic", "Art"], None),
        (["one label", "another label"], None),
        (['["a", "b"]', "[]", '["c"]'], "json"),
        (["[a]", "[b]"], None),
        ([";", "|", ""], None),
        ([], None),
    ],
)
def test_separators_of_labels(values, expected):
    assert _separator(values) == expected


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True), min_size=1),
    st.sampled_from(";|\n"),
)
def test_labels_are_found_again(lists, separator):
    found = _separator([separator.join(labels) for labels in lists])
    assert found == (separator if any(len(labels) > 1 for labels in lists) else None)


def test_labels_of_json(write):
    rows = [{"text": "x", "label": "Trade, foreign"}, {"text": "y", "label": "Art"}]
    path = write("d.jsonl", "\n".join(map(json.dumps, rows)))
    assert [document.labels for document in read(path)] == [("Trade, foreign",), ("Art",)]
    path = write("e.csv", 'text,labels\nx,"[""a"", ""b""]"\ny,"[""c""]"\n')
    assert [document.labels for document in read(path)] == [("a", "b"), ("c",)]


def test_an_array_of_objects(write):
    rows = [{"text": "x", "labels": ["a"]}, {"text": "y"}, 5]
    path = write("d.json", json.dumps(rows, indent=2), "utf-8-sig")
    assert [document.text for document in read(path, on_error="skip")] == ["x", "y"]
    with pytest.raises(TaxoCapsError, match=r"d\.json, record 3: must be a JSON object"):
        read(path)
    with pytest.raises(TaxoCapsError, match=r"d\.json: not JSON"):
        read(write("d.json", '[{"text": "x"'))
    assert read(write("d.json", '{"text": "x"}\n'))[0].text == "x"


def test_folders_are_labels_unless_labels_lie_beside_the_texts(tmp_path):
    for name in ("sport/football/a.txt", "art/b.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("words")
    assert {document.id: document.labels for document in read(tmp_path)} == {
        "art/b": ("art",),
        "sport/football/a": ("sport", "football"),
    }
    (tmp_path / "art" / "b.labels").write_text("film\n")
    assert {document.id: document.labels for document in read(tmp_path)} == {
        "art/b": ("film",),
        "sport/football/a": None,
    }
    assert all(document.labels for document in read(tmp_path, directory_labels="folder"))


def test_recognition_looks_at_the_file_as_it_is_now(write):
    path = write("d.csv", "id,body\n1,x\n")
    assert recognised(path, CorpusConfig()).text_field == "body"
    path = write("d.csv", "id,content\n1,another text\n")
    assert recognised(path, CorpusConfig()).text_field == "content"
