"""Finding what occurs twice, within a split and across splits, in about 100 bytes a document."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DuplicateFinder", "Repeats"]


@dataclass(frozen=True)
class Repeats:
    """How often something was seen again, and the first document in which it was."""

    count: int = 0
    example: str | None = None


class DuplicateFinder:
    """Remembers a 16-byte hash of each key, so that a million documents take about 100 MB."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}
        self._splits: list[str] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], str] = {}

    def add(self, key: str, split: str, name: str) -> None:
        """Take in a key of the document `name`."""
        if split not in self._splits:
            self._splits.append(split)
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        here = self._splits.index(split)
        before = self._seen.get(digest, 0)
        self._seen[digest] = before | 1 << here
        if before >> here & 1:
            self._count((split, split), name)
        elif before:
            for number, other in enumerate(self._splits):
                if before >> number & 1:
                    self._count((other, split) if number < here else (split, other), name)

    def within(self, split: str) -> Repeats:
        """The documents of a split whose key an earlier document of the same split has."""
        return self._repeats((split, split))

    def across(self) -> Mapping[tuple[str, str], Repeats]:
        """For each pair of splits with keys in common: how many different keys, and one document."""
        return {pair: self._repeats(pair) for pair in self._counts if pair[0] != pair[1]}

    def _count(self, pair: tuple[str, str], name: str) -> None:
        self._counts[pair] += 1
        self._examples.setdefault(pair, name)

    def _repeats(self, pair: tuple[str, str]) -> Repeats:
        return Repeats(self._counts[pair], self._examples.get(pair))
