"""Mutated files of every format, data sets and command lines: each is read, or refused in one line."""

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import openpyxl
import pytest
import rdflib
from campaigns.campaign import run
from campaigns.mutations import mutate, mutate_file, mutate_words
from corpus.test_document_files import PAGE, docx_file, pdf
from corpus.test_label_studio import CHOICES, PATHS, annotation, task

from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.feedback.store import Correction, FeedbackStore, Suggestion
from taxocaps.files import _zstd
from taxocaps.scorers.persistence import save_model
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.writers import write_taxonomy
from taxocaps.text.vocabulary import Vocabulary

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are those of Linux"),
]
SHORT = 15
"""Mutations of each kind in the short form."""
STORY = (
    '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="{}">\n<TOPICS><D>earn</D></TOPICS>\n<TEXT>&#2;\n'
    "<TITLE>STORY &lt;A></TITLE><DATELINE> NEW YORK - </DATELINE><BODY>Cocoa & coffee.\n Reuter\n&#3;</BODY></TEXT>\n"
    "</REUTERS>\n"
)
NEWS = (
    '<?xml version="1.0" encoding="iso-8859-1" ?><newsitem itemid="2286"><title>A title</title><text><p>One.</p></text>'
    '<metadata><codes class="bip:countries:1.0"><code code="USA"/></codes><codes class="bip:topics:1.0">'
    '<code code="C11"/></codes></metadata></newsitem>'
)
EDGES = "Root\tCORPORATE\tcompanies\tfirms|business\nCORPORATE\tearn\nRoot\tgrain\n"
LAW = '{"celex_id": "31992", "concepts": ["1"], "title": "A law", "main_body": ["One.", "Two."]}'
DATA_SETS = {
    "reuters": {
        "reut2-000.sgm": "".join(map(STORY.format, range(1, 5))),
        "cat-descriptions_120396.txt": "****Subject Codes (2)\n\nShipping (SHIP)\n\n**Corporate Codes (1)\n\n"
        "Earnings (EARN)\n",
    },
    "reuters-prepared": {
        "reuters21578.jsonl": '{"id": 1, "text": "a", "labels": ["earn"], "split": "train"}\n' * 2,
        "taxonomy.tsv": EDGES,
        "label_names.tsv": "earn\tEarnings\n",
    },
    "eurlex": {
        "eurlexsum_en.jsonl": '{"id": "1", "text": "a", "labels": ["earn"], "split": "train"}\n' * 2,
        "taxonomy.tsv": EDGES,
    },
    "eurlex-laws": {
        **{f"{split}/31992.json": LAW for split in ("train", "dev", "test")},
        "EURLEX57K.json": '{"1": {"label": "oil", "parents": ["2"]}, "2": {"label": "energy", "parents": []}}',
    },
    "rcv1": {
        "lyrl2004_tokens_train.dat": ".I 2286\n.W\nrecov recov excit\n\n.I 2287\n.W\noil\n",
        "rcv1-v2.topics.qrels": "C11 2286 1\nCCAT 2286 1\nC11 2287 1\n",
        "rcv1.topics.hier.orig": "parent: None  child: Root    child-description: Root\n"
        "parent: Root  child: CCAT    child-description: CORPORATE\n"
        "parent: CCAT  child: C11    child-description: PLANS\n",
    },
    "rcv1-news": {"2286newsML.xml": NEWS, "26160newsML.xml": NEWS},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small real files, each alone in a folder: the kind of its reader, and where it is."""
    root = tmp_path_factory.mktemp("files")
    found = {}

    def place(kind, name):
        (root / f"{kind}-{name}").mkdir()
        found[name] = kind, root / f"{kind}-{name}" / name
        return found[name][1]

    documents = [
        Document('Cocoa, "coffee" and\na line', "1", ("earn",), split="train"),
        Document("Naïve text", "2", ("earn", "grain"), split="test"),
    ]
    for name in ("a.jsonl", "a.csv", "a.tsv", "a.parquet", "b.jsonl.gz", "b.csv.xz", "b.jsonl.zst"):
        write_documents(documents, place("documents", name))
    place("documents", "a.txt").write_text("A text.\nIts second line.\n")
    (root / "tree.tsv").write_text(EDGES)
    tree = read_taxonomy(root / "tree.tsv")
    for name in ("t.tsv", "t.csv", "t.json", "t.yaml", "t.ttl", "t.json.gz"):
        write_taxonomy(tree, place("taxonomy", name))
    graph = rdflib.Graph().parse(found["t.ttl"][1])
    for name, syntax in (("t.rdf", "xml"), ("t.nt", "nt"), ("t.jsonld", "json-ld")):
        graph.serialize(place("taxonomy", name), syntax, encoding="utf-8")
    place("taxonomy", "t.hier").write_text(DATA_SETS["rcv1"]["rcv1.topics.hier.orig"])
    words, vectors = ("oil", "gas", "naïve"), np.arange(6, dtype=np.float32).reshape(3, 2)
    lines = "3 2\n" + "".join(f"{word} {a} {b}\n" for word, (a, b) in zip(words, vectors.tolist(), strict=True))
    place("vectors", "v.vec").write_text(lines)
    place("vectors", "v.vec.gz").write_bytes(gzip.compress(lines.encode()))
    place("vectors", "v.bin").write_bytes(
        b"3 2\n" + b"".join(w.encode() + b" " + v.tobytes() for w, v in zip(words, vectors, strict=True))
    )
    np.savez_compressed(place("vectors", "v.npz"), words=np.array(words), vectors=vectors)
    place("vectors", "v.vec.xz").write_bytes(lzma.compress(lines.encode()))
    place("vectors", "v.vec.zst").write_bytes(_zstd().compress(lines.encode()))
    Vocabulary.from_counts({"oil": 3, "gas": 2, "a\tb": 1}).save(place("vocabulary", "w.tsv"))
    _place_office_files(place)
    _place_feedback(place, documents)
    return found


def _place_office_files(place):
    place("documents", "d.pdf").write_bytes(pdf("Crude prices rose", pages=2))
    place("documents", "d.docx").write_bytes(docx_file("Crude prices", "rose again"))
    place("documents", "d.html").write_text(PAGE)
    book = openpyxl.Workbook()
    for row in (("id", "text", "labels"), ("1", "Crude prices", "oil"), (2, "rose", "oil;gas")):
        book.active.append(row)
    book.save(place("documents", "d.xlsx"))
    place("documents", "s.json").write_text(
        json.dumps([task(annotation(PATHS)), task(annotation(CHOICES), document="d7")])
    )


def _place_feedback(place, documents):
    with FeedbackStore(place("feedback", "f.sqlite")) as store:
        store.add(
            [
                Correction("k1", "reject", "ann", documents[0], "earn"),
                Correction("k2", "add", "ann", documents[0], "oil"),
            ]
        )
        store.add([Correction("k3", "done", "ann", documents[0], suggested=("earn", "grain"))])
        store.add([Correction("k4", "undo", "bob", undoes="k1")])
        store.enqueue([(documents[1], Suggestion("v1", ({"label": "earn", "score": 0.5},), "earn", 0.5, 1.0))])


def test_mutated_files_are_read_or_refused_in_one_line(files, campaign_options, tmp_path, capsys):
    run("mutated files", files, mutate_file, campaign_options, tmp_path, SHORT, capsys)


def test_mutated_data_sets_are_read_or_refused_in_one_line(campaign_options, tmp_path, tmp_path_factory, capsys):
    root = tmp_path_factory.mktemp("sets")
    for name, contents in DATA_SETS.items():
        for file, content in contents.items():
            (root / name / file).parent.mkdir(parents=True, exist_ok=True)
            (root / name / file).write_text(content)
    originals = {name: (name.partition("-")[0], root / name) for name in DATA_SETS}
    run("mutated data sets", originals, mutate, campaign_options, tmp_path, SHORT, capsys)


def test_mutated_command_lines_work_or_say_why_not(fit, toys, campaign_options, tmp_path, tmp_path_factory, capsys):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "model").mkdir()
    save_model(fit({"scorer": "linear", "bag": {"min_documents": 1}}), folder / "model")
    write_documents(toys.documents[:8], folder / "train.jsonl")
    write_taxonomy(toys.classes.taxonomy, folder / "taxonomy.tsv")
    lines = [
        ["corpus", "check", "train.jsonl", "--taxonomy", "taxonomy.tsv"],
        ["corpus", "convert", "train.jsonl", "out.csv"],
        ["taxonomy", "show", "taxonomy.tsv"],
        ["taxonomy", "check", "taxonomy.tsv"],
        ["taxonomy", "convert", "taxonomy.tsv", "out.json"],
        ["config", "--set", "graph.window=4"],
        ["models", "--json"],
        ["graph", "A short text about oil.", "--json"],
        ["encode", "train.jsonl", "--out", "store", "--quiet"],
        ["predict", "model", "--text", "A text about oil.", "--json"],
        ["predict", "model", "train.jsonl", "--output", "labels.jsonl", "--quiet"],
        ["explain", "model", "--text", "A text about oil."],
        ["evaluate", "model", "train.jsonl", "--quiet"],
    ]
    (folder / "lines.json").write_text(json.dumps(lines))
    (folder / "words.json").write_text(json.dumps(lines[0]))
    commands = {"commands": ("command", folder / "words.json")}
    run("mutated command lines", commands, mutate_words, campaign_options, tmp_path, 60, capsys)
