"""Whether titles should count more than the rest of a text (`--text-field title*3,body`), out of fold and on test data.

    python benchmarks/fields.py build/reuters build/pydocs --model SVM

The title of a document is its first line. Thresholds are chosen out of fold, and so would the weight be.
"""

import argparse
import json
import tempfile
from pathlib import Path

from taxocaps.corpus.readers import read_documents
from taxocaps.workflows.train import TrainFiles, train

FIELDS = ("body", "title", "title,body", "title*2,body", "title*3,body", "title*5,body")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="Folders with train.jsonl, test.jsonl and taxonomy.tsv.")
    parser.add_argument("--model", default="SVM")
    options = parser.parse_args()
    print("| corpus | fields | out of fold: micro-F1 | macro-F1 | test: micro-F1 | macro-F1 |")
    print("|---|---|---:|---:|---:|---:|")
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as work:
            _compare(folder, Path(work), options.model)


def _compare(folder: Path, work: Path, model: str) -> None:
    for part in ("train", "test"):
        _divide(folder / f"{part}.jsonl", work / f"{part}.jsonl")
    files = TrainFiles(work / "train.jsonl", folder / "taxonomy.tsv", test=work / "test.jsonl")
    for fields in FIELDS:
        report = train(files, work / "model", model=model, corpus__text_field=fields, existing="overwrite")
        assert report is not None
        assert report.test is not None
        found = [one.flat for one in (report.validation, report.test)]
        scores = " | ".join(f"{value:.4f}" for flat in found for value in (flat.micro.f1, flat.macro.f1))
        print(f"| {folder.name} | `{fields}` | {scores} |", flush=True)


def _divide(source: Path, target: Path) -> None:
    """Write documents with title and body, at the first line break."""
    with target.open("w", encoding="utf-8") as file:
        for one in read_documents(source):
            title, _, body = one.text.partition("\n")
            file.write(json.dumps({"id": one.id, "title": title, "body": body, "labels": one.labels}) + "\n")


if __name__ == "__main__":
    main()
