"""The files that the pages speak of, as small as can be."""

import gzip
import json
import shutil
from dataclasses import replace
from importlib.metadata import distributions

from documentation.pages import ROOT

from taxocaps.corpus.writers import write_documents
from taxocaps.datasets import toy
from taxocaps.datasets.rcv1 import built_in_topics
from taxocaps.taxonomy.writers import write_taxonomy

STORY = (
    '<REUTERS TOPICS="YES" LEWISSPLIT="{split}" NEWID="{id}">\n<TOPICS>{topics}</TOPICS>\n'
    "<TEXT><TITLE>STORY {id}</TITLE><BODY>Cocoa and coffee.\n Reuter\n</BODY></TEXT>\n</REUTERS>\n"
)
STORIES = [
    *(("TRAIN", "earn"), ("TRAIN", "earn"), ("TRAIN", "acq"), ("TRAIN", "acq"), ("TRAIN", "ship"), ("TRAIN", "crude")),
    *(("TEST", "earn"), ("TEST", "acq"), ("TEST", "crude", "ship"), ("TEST", "earn", "acq")),
]
TOPICS = """****Subject Codes (4)

Shipping (SHIP)

**Corporate Codes (2)

Mergers/Acquisitions (ACQ)
Earnings and Earnings Forecasts (EARN)

**Energy Codes (1)

Crude Oil (CRUDE)
"""


def write_files(folder):
    """Documents and taxonomies under all names that the pages use."""
    data = toy.load()
    documents = [replace(document, split=None, id=str(n)) for n, (_, document) in enumerate(data.documents(), 1)]
    for name in ("train", "dev", "test", "documents", "news", "new", "unlabelled"):
        write_documents(documents, folder / f"{name}.jsonl")
    corrected = [replace(document, text=f"Corrected: {document.text}", id=f"c{document.id}") for document in documents]
    write_documents(corrected, folder / "corrected.jsonl")
    task = {"text": "Twelve aces on the grass court.", "labels": {"choices": ["Tennis", "Sport"]}}
    (folder / "project-1-at-2026-11-17.json").write_text(json.dumps([{"id": 1, "annotation_id": 7, **task}]))
    for name in ("articles.csv", "documents.csv"):
        write_documents(documents, folder / name)
    for name in ("labels.tsv", "new.ttl", "subjects.tsv"):
        write_taxonomy(data.taxonomy, folder / name)
    shutil.copy(folder / "labels.tsv", folder / "new.tsv")
    _write_tables(folder, documents)
    for name in ("news", "test", "examples"):
        (folder / name).mkdir()
    write_documents(documents, folder / "test" / "part.jsonl")
    write_documents(documents, folder / "news" / "2024-01.jsonl.zst")
    with gzip.open(folder / "news" / "a.jsonl.gz", "wb") as packed:
        packed.write((folder / "train.jsonl").read_bytes())
    shutil.copy(ROOT / "examples" / "musk.txt", folder / "examples")


def _write_tables(folder, documents):
    texts = [document.text.replace(";", ",").replace("\n", " ") for document in documents]
    labels = ["|".join(document.labels) for document in documents]
    rows = [f"{text[:20]};{text};{names}" for text, names in zip(texts, labels, strict=True)]
    for name in ("news.csv", "new.csv"):
        table = "\n".join(["Headline;Body;Topics", *rows, "Café;A café in town.;Sport"])
        (folder / name).write_bytes(table.encode("cp1252"))


def write_data_sets(folder):
    """Reuters-21578 and RCV1 in the formats in which they are published."""
    reuters, rcv1 = folder / "reuters", folder / "rcv1"
    reuters.mkdir()
    rcv1.mkdir()
    marked = [(split, "".join(f"<D>{topic}</D>" for topic in topics)) for split, *topics in STORIES]
    stories = [STORY.format(id=id, split=split, topics=topics) for id, (split, topics) in enumerate(marked, 1)]
    (reuters / "reut2-000.sgm").write_text("".join(stories), encoding="latin-1")
    (reuters / "cat-descriptions_120396.txt").write_text(TOPICS)
    parts = {"train": range(2286, 2296), **{f"test_pt{part}": [30000 + part] for part in range(4)}}
    for name, numbers in parts.items():
        texts = [f".I {number}\n.W\nrecov excit\n\n" for number in numbers]
        (rcv1 / f"lyrl2004_tokens_{name}.dat").write_text("".join(texts))
    lines = [f"{topic} {number} 1\n" for numbers in parts.values() for number in numbers for topic in ("E11", "ECAT")]
    (rcv1 / "rcv1-v2.topics.qrels").write_text("".join(lines))
    write_taxonomy(built_in_topics(), rcv1 / "rcv1.topics.hier.orig")


def write_wheels(folder):
    """A folder that stands for a package index: an empty wheel of all that is installed."""
    folder.mkdir()
    for part in distributions():
        (folder / f"{part.metadata['Name'].replace('-', '_')}-{part.version}-py3-none-any.whl").touch()
