"""Corpora of the quality study as folders with train, dev and test documents and a taxonomy.

    python benchmarks/corpora.py reuters reuters21578.jsonl.gz taxonomy.tsv OUT
    python benchmarks/corpora.py arxiv arxiv_subset.jsonl.gz taxonomy.tsv OUT

Reuters is R90 of the ModApte split: the 90 topics with a training and a test document. Test documents are later than
training ones, so the dev documents are the last tenth of the training documents, not a random one: a random tenth is
three points easier for every model. arXiv has its own dev documents.
"""

import argparse
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from taxocaps.files import open_binary

Record = Mapping[str, Any]
DEV_SHARE = 0.1


def reuters(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The parts of R90, the dev documents being the last of the training documents."""
    r90 = [record for record in records if record["in_r90"]]
    parts = {name: [record for record in r90 if record["split"] == name] for name in ("train", "test")}
    topics = [{label for record in part for label in record["labels"]} for part in parts.values()]
    known = set.intersection(*topics)
    train = sorted(parts["train"], key=lambda record: int(record["id"]))
    end = round(len(train) * (1 - DEV_SHARE))
    chosen = {"train": train[:end], "dev": train[end:], "test": parts["test"]}
    return {
        name: [{**record, "labels": [label for label in record["labels"] if label in known]} for record in part]
        for name, part in chosen.items()
    }


def arxiv(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The parts of the arXiv abstracts, as their field `split` says."""
    parts: dict[str, list[Record]] = {"train": [], "dev": [], "test": []}
    for record in records:
        parts[record["split"]].append(record)
    return parts


CORPORA = {"reuters": reuters, "arxiv": arxiv}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=CORPORA)
    parser.add_argument("documents", type=Path)
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with open_binary(options.documents) as file:
        parts = CORPORA[options.name](map(json.loads, file))
    for name, records in parts.items():
        kept = ({"id": record["id"], "text": record["text"], "labels": record["labels"]} for record in records)
        with (options.out / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in kept)
        print(f"{name}: {len(records):,} documents")
    shutil.copyfile(options.taxonomy, options.out / "taxonomy.tsv")


if __name__ == "__main__":
    main()
