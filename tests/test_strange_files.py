"""Files from strangers: without end, absurd, nested, slow or no files at all; each is refused in one line, in time."""

import gzip
import io
import json
import lzma
import os
import socket
import struct
import zipfile
from pathlib import Path

import pytest
from campaigns.campaign import Victim

from taxocaps.files import _zstd

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are those of Linux")

SECONDS, MEMORY = 30, 600 * 2**20
"""Idle cores need less than 5 seconds for the slowest file; a machine with other work has several times as much."""
ENDLESS = 270
"""Megabytes that files without end unpack to."""
PACK = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": lambda content: _zstd().compress(content)}


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    """A process that tries files; it has read one of each kind before, so that libraries are loaded."""
    found = Victim()
    folder = tmp_path_factory.mktemp("warm")
    for kind, name, content in [
        ("documents", "a.jsonl.zst", _zstd().compress(b'{"text": "a"}\n')),
        ("documents", "a.parquet", _parquet([{"text": "a"}])),
        ("taxonomy", "a.jsonld", b"{}"),
        ("taxonomy", "a.rdf", b"<a/>"),
        ("taxonomy", "a.yaml", b"a: b"),
    ]:
        (folder / name).write_bytes(content)
        found.ask(kind, folder / name, warm=True)
    yield found
    found.end()


@pytest.fixture
def refusal(victim, tmp_path):
    """A function that returns the one line by which a file is refused."""

    def refuse(kind, name, content, **request):
        path = tmp_path / name
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        found = victim.ask(kind, path, **{"seconds": SECONDS, "memory": MEMORY, **request})
        assert found["outcome"] == "refused", found
        assert found["message"] != "not enough memory"
        return found["message"]

    return refuse


def _parquet(rows, **options):
    import pyarrow
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file, **options)
    return file.getvalue()


def _endless(start, block, suffix):
    """Some kilobytes that unpack to a start and then the same again and again."""
    return PACK[suffix](start) + PACK[suffix](block * (2**20 // len(block))) * ENDLESS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "start", "block"),
    [
        ("documents", "a.jsonl.zst", b'{"text": "', b"x"),
        ("documents", "a.csv.gz", b"te", b"x"),
        ("documents", "a.csv.xz", b'text,id\n"', b"x"),
        ("documents", "a.csv.zst", b'text,id\n"', b"x\n"),
        ("documents", "a.csv.gz", b"text,id\n", b'"\n",'),
        ("documents", "a.tsv.xz", b"text\tid\n", b"\t"),
        ("documents", "a.txt.zst", b"", b"x"),
        ("documents", "a.txt.gz", b"", b"a line of text\n"),
        ("taxonomy", "a.tsv.xz", b"a\t", b"x"),
        ("taxonomy", "a.tsv.zst", b"", b"a\tb\tc\td\te\n"),
        ("taxonomy", "a.csv.zst", b"", b"a,b,c,d\n"),
        ("taxonomy", "b.csv.zst", b"", b"\n"),
        ("taxonomy", "a.hier.gz", b"parent: ", b" "),
        ("taxonomy", "a.json.xz", b'["', b"x"),
        ("taxonomy", "a.json.zst", b"[1", b",\n1"),
        ("taxonomy", "a.yaml.gz", b"a: ", b"x"),
        ("taxonomy", "a.ttl.xz", b"<a> <b> <", b"x"),
        ("taxonomy", "a.rdf.zst", b"<a>", b"x"),
        ("vectors", "a.txt.gz", b"", b"x"),
        ("vectors", "a.txt.xz", b"a", b" 1"),
        ("vectors", "a.bin.zst", b"1 4\n", b"x"),
        ("vectors", "a.npz.gz", b"", b"x"),
        ("vocabulary", "a.tsv.xz", b"", b"x"),
    ],
)
def test_compressed_records_without_end(refusal, kind, name, start, block):
    refusal(kind, name, _endless(start, block, name[name.rindex(".") :]))


def test_the_bound_of_a_record_is_an_option(refusal, victim, tmp_path):
    content = b'{"text": "%s"}\n' % (b"word " * 100_000)
    message = refusal("documents", "a.jsonl", content, options={"longest_record": 1_000})
    assert "more than 1,000 characters" in message
    assert "corpus.longest_record" in message
    assert victim.ask("documents", tmp_path / "a.jsonl")["outcome"] == "answer"


def test_a_huge_cell_of_a_table_of_parquet(refusal):
    rows = [{"text": "a"}, {"text": "x" * (2**24 + 1)}, {"text": "b"}]
    assert "row 2" in refusal("documents", "a.parquet", _parquet(rows, compression="zstd"))
    rows = [{"text": "a", "labels": ["b"] * 2**20}]
    refusal("documents", "a.parquet", _parquet(rows, compression="zstd"), options={"longest_record": 2**20})


def test_a_value_that_a_dictionary_of_parquet_repeats(victim, tmp_path):
    import pyarrow
    import pyarrow.parquet

    text = pyarrow.DictionaryArray.from_arrays([0] * 1_000, ["x" * 2**22])
    pyarrow.parquet.write_table(
        pyarrow.table({"text": text}),
        tmp_path / "a.parquet",
        compression="zstd",
        dictionary_pagesize_limit=2**30,
        store_schema=False,
    )
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    found = victim.ask("documents-counted", tmp_path / "a.parquet", seconds=SECONDS, memory=MEMORY)
    assert found["outcome"] == "answer", found


def _npz(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def _header(described, shape, body=b""):
    text = repr({"descr": described, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


@pytest.mark.parametrize(
    ("words", "vectors"),
    [
        (_header("<U1", (2**60,)), _header("<f4", (2**60, 2))),
        (_header(f"<U{2**28}", (2,)), _header("<f4", (2, 2))),
        (_header("<U1", (1,), b"a\0\0\0"), _header("<f4", (1, 2**60))),
        (_header("<U1", (1,), b"a\0\0\0"), _header("<f4", (1, 2**26), b"\0" * 2**26)),
        (_header("<U1", (-1,)), _header("<f4", (-1, 2))),
        (_header("<U1", (1,), b"a\0\0\0"), b"\x93NUMPY\x01\x00\x05\x00((((("),
        (_header("<U1", (1,), b"a\0\0\0"), b"\x93NUMPY\x03\x00\xff\xff\xff\x7f{"),
        (_header("|O", (1,)), _header("<f4", (1, 1), b"\0" * 4)),
        (_header("<U1", (3,), b"a\0\0\0"), _header("<f4", (3, 1), b"\0" * 4)),
    ],
)
def test_arrays_of_absurd_sizes(refusal, words, vectors):
    refusal("vectors", "a.npz", _npz(words=words, vectors=vectors))


def test_vectors_of_words_nobody_wants_take_no_memory(victim, tmp_path):
    rows = 2**19
    (tmp_path / "a.npz").write_bytes(
        _npz(words=_header("<U1", (rows,), b"a\0\0\0" * rows), vectors=_header("<f4", (rows, 100), bytes(rows * 400)))
    )
    assert victim.ask("vectors", tmp_path / "a.npz", seconds=30, memory=2**27)["outcome"] == "answer"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.bin", b"1 99999999999999\nword " + b"\0" * 100),
        ("a.bin", b"99999999999999999 3\nword " + b"\0" * 100),
        ("a.txt", b"1 " + b"9" * 5_000 + b"\n"),
        ("a.txt", b"a 1 1e999999\n"),
        ("a.txt", b"a " + b"9" * 5_000 + b"\n"),
    ],
)
def test_vectors_of_absurd_sizes(refusal, name, content):
    refusal("vectors", name, content)


@pytest.mark.parametrize("count", [b"9" * 4_400, b"-" + b"9" * 4_400, "²".encode()])
def test_counts_of_a_vocabulary_without_end(refusal, count):
    refusal("vocabulary", "a.tsv", b"word\t" + count + b"\n")


@pytest.mark.parametrize("blanks", [" ", "\t", " \t"])
def test_blanks_in_a_hierarchy_take_linear_time(refusal, victim, tmp_path, blanks):
    many = blanks * 100_000
    refusal("taxonomy", "a.hier", f"parent: {many}x{many}y{many}\n".encode())
    (tmp_path / "b.hier").write_text(f"parent: A{many}child: B{many}child-description: C{many}D\n")
    found = victim.ask("taxonomy", tmp_path / "b.hier", seconds=SECONDS)
    assert found["outcome"] == "answer", found


STORY = '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1">{}</REUTERS>\n'
HEADING = "****Subject Codes (1)\n\nEarnings (EARN)\n"


@pytest.mark.parametrize(
    "story",
    [
        STORY.format("<TEXT><BODY>a" + "\n" * 300_000 + "b</BODY></TEXT>"),
        STORY.format("<TEXT><BODY>a" + "\n reuter" * 50_000 + "b</BODY></TEXT>"),
        STORY.format("<TEXT>" + "<TITLE>" * 100_000 + "</TEXT>"),
        STORY.format("<TEXT>" * 100_000),
        STORY.format("<TOPICS>" * 100_000),
        STORY.format("<TOPICS>" + "<D>" * 100_000 + "</TOPICS>"),
        STORY.format("<TEXT>" + "<AUTHOR>" * 100_000 + "</TEXT>"),
        STORY.format("<TEXT") * 10_000,
        "<REUTERS " * 100_000,
        "<REUTERS>" * 100_000,
        "<REUTERS" + " a=" * 200_000 + ">x</REUTERS>",
        STORY.format("<TEXT><BODY>" + "&#" * 300_000 + "</BODY></TEXT>"),
        STORY.format("<TEXT><BODY>&#" + "9" * 5_000 + ";</BODY></TEXT>"),
        STORY.replace('"1"', '"' + "9" * 5_000 + '"').format(""),
    ],
)
def test_stories_of_newlines_and_unclosed_tags_take_linear_time(victim, tmp_path, story):
    (tmp_path / "reut2-000.sgm").write_text(story * 2)
    (tmp_path / "cat-descriptions_120396.txt").write_text(HEADING)
    found = victim.ask("reuters", tmp_path, seconds=SECONDS, memory=MEMORY)
    assert found["outcome"] in ("answer", "refused"), found


RDF = '<!DOCTYPE a [{}]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">{}</rdf:RDF>'
LAUGHS = '<!ENTITY a "ha">' + "".join(f'<!ENTITY {chr(98 + one)} "{f"&{chr(97 + one)};" * 10}">' for one in range(12))


@pytest.mark.parametrize(
    "document",
    [
        RDF.format(LAUGHS, "&m;"),
        RDF.format('<!ENTITY x ">">' + LAUGHS, "&m;"),
        RDF.format("<!-- > -->" + LAUGHS, "&m;"),
        RDF.format("<!ENTITY % p '" + LAUGHS.replace("'", '"').replace("&", "&#38;") + "'>%p;", "&m;"),
        RDF.format("".join(f'<!ENTITY e{one} "{one}">' for one in range(100_000)), "&e1;"),
        RDF.format('<!ENTITY a "' + "x" * 100_000 + '">', "&a;" * 100_000),
        RDF.format('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_that_expand(refusal, document, encoding):
    refusal("taxonomy", "a.rdf", document.encode(encoding))


@pytest.mark.parametrize(
    "document",
    [
        LAUGHS.join(("<!DOCTYPE newsitem [", "]><newsitem><text><p>&m;</p></text></newsitem>")),
        '<!DOCTYPE newsitem [<!ENTITY a SYSTEM "file:///etc/passwd">]><newsitem><title>&a;</title></newsitem>',
        "<newsitem>" + "<p>" * 200_000,
        "<newsitem>" + "<p>" * 200_000 + "</p>" * 200_000 + "</newsitem>",
    ],
)
def test_news_that_expand(victim, tmp_path, document):
    (tmp_path / "1newsML.xml").write_text(document)
    found = victim.ask("rcv1", tmp_path, seconds=SECONDS, memory=MEMORY)
    assert found["outcome"] in ("answer", "refused"), found
    assert "root:" not in found["message"]


@pytest.mark.parametrize(
    "context",
    ["URL", ["URL"], [["URL"]], [[[{}, ["URL"]]]], {"@import": "URL"}, {"a": {"@id": "b:c", "@context": [["URL"]]}}],
)
def test_a_context_elsewhere_is_never_fetched(refusal, context):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/context.jsonld"
        document = json.dumps({"@context": context, "a": {"a": 1}}).replace("URL", address)
        refusal("taxonomy", "a.jsonld", document.encode())
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("documents", f"a{end}") for end in (".jsonl", ".jsonl.gz", ".csv", ".txt", ".parquet", ".jsonl.zst")),
        *(("documents", f"a{end}") for end in (".json", ".xlsx", ".pdf", ".docx", ".html")),
        *(("taxonomy", f"a{end}") for end in (".tsv", ".json", ".yaml", ".ttl", ".jsonld", ".hier", ".tsv.xz")),
        *(("vectors", f"a{end}") for end in (".txt", ".bin", ".npz", ".txt.gz")),
        ("vocabulary", "a.tsv"),
    ],
)
@pytest.mark.parametrize("device", [None, "/dev/zero"])
def test_pipes_and_devices(refusal, tmp_path, kind, name, device):
    if device:
        (tmp_path / name).symlink_to(device)
    else:
        os.mkfifo(tmp_path / name)
    assert "regular file" in refusal(kind, name, None)


@pytest.mark.parametrize("name", ["reuters21578.jsonl", "eurlexsum_en.jsonl", "lyrl2004_tokens_train.dat"])
def test_pipes_in_data_sets(victim, tmp_path, name):
    os.mkfifo(tmp_path / name)
    kind = {"r": "reuters", "e": "eurlex", "l": "rcv1"}[name[0]]
    found = victim.ask(kind, tmp_path, seconds=SECONDS)
    assert found["outcome"] == "refused", found


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("eurlex", {"eurlexsum_en.jsonl": '{"id": 1, "text": 2, "labels": [3], "split": "train"}'}),
        ("eurlex", {"eurlexsum_en.jsonl": '{"id": "1", "text": "a", "labels": null, "split": "train"}'}),
        ("eurlex", {"eurlexsum_en.jsonl": '{"id": "1", "text": "a", "labels": ["b"], "split": "other"}'}),
        ("eurlex", {"eurlexsum_en.jsonl": '{"id": [], "text": "a", "labels": ["b"], "split": "train"}'}),
        ("eurlex", {"eurlexsum_en.jsonl": '{"id": ' + "9" * 5_000 + "}"}),
        ("eurlex", {"eurlexsum_en.jsonl": "[" * 100_000}),
        ("eurlex", {"train/a.json": "[" * 100_000, "dev/a.json": "{}", "test/a.json": "{}", "EURLEX57K.json": "{}"}),
        ("eurlex", {"train/a.json": "{}", "dev/a.json": "{}", "test/a.json": "{}", "EURLEX57K.json": '{"1": []}'}),
        (
            "eurlex",
            {
                **dict.fromkeys(("train/a.json", "dev/a.json"), '{"celex_id": 1, "concepts": [{}]}'),
                "test/a.json": '{"celex_id": 1, "concepts": 3}',
                "EURLEX57K.json": "{}",
            },
        ),
        ("reuters", {"reuters21578.jsonl": '{"id": "x", "text": "a", "labels": [], "split": "train"}'}),
        ("reuters", {"reuters21578.jsonl": '{"id": 1, "text": 5, "labels": 5, "split": "train"}'}),
        ("reuters", {"reuters21578.jsonl": '{"id": 1, "text": "a", "labels": [[]], "split": []}'}),
        ("reuters", {"reut2-000.sgm": STORY.format(""), "cat-descriptions_120396.txt": f"**Subject Codes ({9:05000})"}),
        ("rcv1", {"lyrl2004_tokens_train.dat": ".I " + "9" * 5_000, "rcv1-v2.topics.qrels": ""}),
        ("rcv1", {"lyrl2004_tokens_train.dat": ".I 1", "rcv1-v2.topics.qrels": "GCAT " + "9" * 5_000 + " 1"}),
        ("rcv1", {"9" * 200 + "newsML.xml": "<a/>"}),
        ("rcv1", {"1newsML.xml": '<?xml version="1.0" encoding="rot13"?><a/>'}),
        ("rcv1", {"1newsML.xml": '<?xml version="1.0" encoding="x-none"?><a/>'}),
    ],
)
def test_damaged_data_sets(victim, tmp_path, kind, files):
    (tmp_path / "taxonomy.tsv").write_text("Root\tGCAT\n")
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    found = victim.ask(kind, tmp_path, seconds=SECONDS, memory=MEMORY)
    assert found["outcome"] in ("answer", "refused"), found


def test_a_table_of_very_many_or_very_long_columns(refusal):
    refusal("documents", "a.csv", b"a" * 2**22 + b"\n1\n")
    refusal("documents", "a.csv", b",".join(b"tex%d" % one for one in range(100_000)) + b"\n")
    refusal("documents", "a.jsonl", json.dumps({f"tex{one}": 1 for one in range(100_000)}).encode())


def test_messages_stay_one_line_whatever_names_hold(refusal):
    message = refusal("documents", "a\n\x1b[31mred\u202e.jsonl", b"{}")
    assert "\\x1b[31mred" in message
    assert len(refusal("documents", "a.jsonl", json.dumps({"x" * 10_000: 1}).encode())) < 1_600
