"""Check a corpus against its taxonomy, and write it in another format."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from taxocaps.corpus.document import Document
from taxocaps.corpus.label_names import describe_counts
from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.corpus.statistics import CorpusReport, UnknownLabel
from taxocaps.corpus.statistics import check_corpus as check_documents
from taxocaps.corpus.writers import write_documents
from taxocaps.encoding.documents import plain_text
from taxocaps.files import format_stem, refuse_same_file
from taxocaps.progress import Progress, silent
from taxocaps.reviewing.copies import CopyFinder
from taxocaps.reviewing.language import LanguageGuesser
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.workflows.sources import label_problem, read_source

__all__ = ["CheckedCorpus", "check_corpus", "convert_corpus", "describe_counts"]


@dataclass(frozen=True)
class CheckedCorpus:
    """What a corpus holds.

    Attributes:
        corpus: Its numbers.
        long_tail: How many labels have 1, 2, 3 to 9, 10 to 99, and 100 or more documents.
        languages: How many documents seem to be in which language, the most frequent first; "unclear" for texts that
            are short, or in a language without a list of function words; ready tokens, as in stores, are not counted.
        copies: Documents with a near copy earlier in the same split, by split.
        shared_copies: Pair of splits -> documents of the second with a near copy in the first.
        findings: What may be wrong with it, one line each.
        skipped: Broken records that were skipped, with the first messages in `problems`.
        problems: The first few broken records.
    """

    corpus: CorpusReport
    long_tail: Mapping[str, int]
    languages: Mapping[str, int]
    copies: Mapping[str, int]
    shared_copies: Mapping[tuple[str, str], int]
    findings: tuple[str, ...]
    skipped: int
    problems: tuple[str, ...]


def check_corpus(
    files: Sequence[Path],
    taxonomy: Path | None = None,
    config: CorpusConfig | None = None,
    *,
    language: str | None = None,
    progress: Progress = silent,
) -> CheckedCorpus:
    """Read a corpus once and report what is in it and what may be wrong with it.

    Args:
        files: The files or folders of the corpus. Several files are splits of it, named by their file names; the
            documents of one file are divided by their split field, if they have one.
        taxonomy: The file of the taxonomy; without one, labels are only counted.
        config: How to read the documents.
        language: Count the words that the text pipeline of this language keeps, not all that white space separates.
        progress: Told how many documents are read.
    """
    reading, texts = ReadReport(), _Texts()
    documents = texts.seen(_by_split(files, config or CorpusConfig(), reading, progress))
    labels = read_taxonomy(taxonomy) if taxonomy else None
    if language is None:
        found = check_documents(documents, labels)
    else:
        pipeline = TextPipeline(TextConfig(language=language))
        found = check_documents(documents, labels, tokenize=lambda text: pipeline.tokenize([text]).document(0))
    copies, shared = texts.copies()
    fields = _field_findings(files, config or CorpusConfig())
    findings = (*fields, *_findings(found), *_copy_findings(found, copies, shared))
    return CheckedCorpus(
        found,
        found.long_tail,
        dict(texts.languages.most_common()),
        copies,
        shared,
        findings,
        reading.skipped,
        tuple(reading.messages),
    )


class _Texts:
    """What is seen of texts while documents pass by: their languages, and near copies."""

    def __init__(self) -> None:
        self.languages: Counter[str] = Counter()
        self._guess = LanguageGuesser()
        self._finder = CopyFinder()
        self._splits: list[str] = []

    def seen(self, documents: Iterable[tuple[str, Document]]) -> Iterator[tuple[str, Document]]:
        """The same documents, looked at."""
        for chunk in _chunks(documents):
            self._finder.add(plain_text(document).lower().split() for _, document in chunk)
            for split, document in chunk:
                self._splits.append(sys.intern(split))
                if document.tokens is None:
                    self.languages[self._guess(document.text) or "unclear"] += 1
                yield split, document

    def copies(self) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
        """Near copies within splits, and between each two of them in the order in which they were read."""
        within: Counter[str] = Counter()
        between: Counter[tuple[str, str]] = Counter()
        homes: dict[int, dict[str, None]] = {}  # the splits that each group was seen in
        for split, group in zip(self._splits, self._finder.groups().tolist(), strict=True):
            if group < 0:
                continue
            seen = homes.setdefault(group, {})
            within[split] += split in seen
            between.update((other, split) for other in seen if other != split)
            seen[split] = None
        return {split: count for split, count in within.items() if count}, dict(between)


def _chunks(documents: Iterable[tuple[str, Document]]) -> Iterator[list[tuple[str, Document]]]:
    iterator = iter(documents)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


_CHUNK = 256


def convert_corpus(
    source: Path,
    target: Path,
    config: CorpusConfig | None = None,
    *,
    format: str | None = None,
    progress: Progress = silent,
) -> ReadReport:
    """Write a corpus in another format, told by the suffix of `target` or by `format`.

    The fields of the new corpus have their usual names: id, text, labels.
    """
    refuse_same_file(source, target)
    reading, config = ReadReport(), config or CorpusConfig()
    documents = _counted(read_source(source, config, report=reading), reading, progress)
    write_documents(documents, target, format=format, config=CorpusConfig(label_separator=config.label_separator))
    return reading


def _by_split(
    files: Sequence[Path], config: CorpusConfig, reading: ReadReport, progress: Progress
) -> Iterator[tuple[str, Document]]:
    for file, name in zip(files, _split_names(files), strict=True):
        for document in _counted(read_source(file, config, report=reading), reading, progress):
            yield (document.split or name) if len(files) == 1 else name, document


def _split_names(files: Sequence[Path]) -> list[str]:
    """The names of files as names of splits; files of one name are told apart by their folders, or by their paths."""
    names = [format_stem(file) for file in files]
    if len(set(names)) < len(names):
        names = [f"{file.absolute().parent.name}/{name}" for file, name in zip(files, names, strict=True)]
    return names if len(set(names)) == len(names) else [str(file) for file in files]


def _counted(documents: Iterator[Document], reading: ReadReport, progress: Progress) -> Iterator[Document]:
    for number, document in enumerate(documents, 1):
        yield document
        if number % 1_000 == 0:
            progress("reading documents", reading.documents)


def _findings(corpus: CorpusReport) -> Iterator[str]:
    for name, split in corpus.splits.items():
        for count, what, example in (
            (split.empty_texts, "documents without text", None),
            (split.unlabelled, "documents without labels", None),
            (split.duplicate_texts.count, "documents repeat a text", split.duplicate_texts.example),
            (split.duplicate_ids.count, "documents repeat an id", split.duplicate_ids.example),
            (split.missing_ancestors.count, "documents lack an ancestor of a label", split.missing_ancestors.example),
        ):
            if count:
                yield f"{name}: {count:,} {what}" + (f", such as {example}" if example else "")
    for what, shared in (("texts", corpus.shared_texts), ("ids", corpus.shared_ids)):
        for (first, second), found in shared.items():
            yield f"{first} and {second} share {found.count:,} {what}, such as {found.example}"
    for label in corpus.unknown_labels:
        yield f"{_unknown(label)} in {label.documents:,} documents, such as {label.example}"
    if corpus.unused_labels:
        unused = corpus.unused_labels
        yield f"{len(unused):,} labels of the taxonomy are in no document, such as {unused[0]!r}"


def _field_findings(files: Sequence[Path], config: CorpusConfig) -> Iterator[str]:
    """Tables in which no column is known to hold labels."""
    for file in files:
        if problem := label_problem(file, config, only_tables=True):
            yield f"{file}: {problem}"


def _copy_findings(
    corpus: CorpusReport, copies: Mapping[str, int], shared: Mapping[tuple[str, str], int]
) -> Iterator[str]:
    """Near copies, where there are more of them than of exact ones, which have lines of their own."""
    for name, count in copies.items():
        if count > corpus.splits[name].duplicate_texts.count:
            yield f"{name}: {count:,} documents are nearly the same as an earlier one"
    for (first, second), count in shared.items():
        exact = corpus.shared_texts.get((first, second))
        if exact is None or count > exact.count:
            yield f"{count:,} documents of {second} are nearly the same as one of {first}"


def _unknown(label: UnknownLabel) -> str:
    if not label.candidates:
        return f"unknown label {label.name!r}"
    return f"ambiguous label {label.name!r} ({' or '.join(map(repr, label.candidates[:5]))})"
