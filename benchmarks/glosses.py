"""Make a data set that no setting was ever chosen on: definitions of nouns in WordNet, and what they are kinds of.

    apt-get install wordnet-base
    python benchmarks/glosses.py                         # makes build/glosses
    python benchmarks/run.py joined-glosses
    python benchmarks/peers.py --data build/glosses

A document is the definition of a noun, without the noun and without examples. Its labels are the meanings above it,
but for the root, that have at least 150 nouns below them: 388 labels in 14 levels, some with several parents. A meaning
is called by its first word, with a number behind it if another one has that name already.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PARTS = {"train": 4_000, "dev": 1_000, "test": 3_000}
FEWEST_NOUNS = 150
FEWEST_WORDS = 4


@dataclass(frozen=True)
class Meaning:
    """A set of synonyms: its first word, its definition, and the meanings that it is a kind or an instance of."""

    word: str
    definition: str
    parents: tuple[str, ...]


def read_meanings(path: Path) -> dict[str, Meaning]:
    """The meanings of nouns by their numbers, see the manual page `wndb(5)`."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):  # the licence
            continue
        head, _, gloss = line.partition(" | ")
        number, _, _, words, word, *fields = head.split()
        pointers = fields[
            2 * int(words, 16) :
        ]  # behind the other words, each with a number, and the number of pointers
        kinds = zip(pointers[::4], pointers[1::4], strict=False)
        parents = tuple(target for kind, target in kinds if kind in ("@", "@i"))
        found[number] = Meaning(word.replace("_", " "), gloss.partition('; "')[0].strip(), parents)
    return found


def labelled(meanings: Mapping[str, Meaning]) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """The edges of the taxonomy, and all documents, shuffled."""

    @cache
    def above(number: str) -> frozenset[str]:
        parents = meanings[number].parents
        return frozenset(parents).union(*map(above, parents))

    sizes = Counter(one for number in meanings for one in above(number))
    names = _names({number: meanings[number].word for number in sorted(sizes) if sizes[number] >= FEWEST_NOUNS})
    edges = [(names[parent], name) for number, name in names.items() for parent in meanings[number].parents]
    labels = {number: name for number, name in names.items() if meanings[number].parents}  # all but the root
    documents = [
        {"id": number, "text": one.definition, "labels": sorted(labels[up] for up in above(number) & labels.keys())}
        for number, one in meanings.items()
        if number not in names and len(one.definition.split()) >= FEWEST_WORDS
    ]
    random.Random(0).shuffle(documents)
    return edges, documents


def _names(words: Mapping[str, str]) -> dict[str, str]:
    """Words that occur once; those that occur again get a number."""
    seen: Counter[str] = Counter()
    names = {}
    for number, word in words.items():
        seen[word] += 1
        names[number] = word if seen[word] == 1 else f"{word} {seen[word]}"
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default="/usr/share/wordnet/data.noun", metavar="FILE")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "glosses", metavar="FOLDER")
    options = parser.parse_args()
    edges, documents = labelled(read_meanings(options.source))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "taxonomy.tsv").write_text("".join(f"{parent}\t{child}\n" for parent, child in edges), "utf-8")
    remaining = iter(documents)
    for part, size in PARTS.items():
        lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in islice(remaining, size))
        (options.out / f"{part}.jsonl").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
