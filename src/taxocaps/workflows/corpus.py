"""Check a corpus against its taxonomy, and write it in another format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from taxocaps.corpus.document import Document
from taxocaps.corpus.label_names import describe_counts
from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.corpus.statistics import CorpusReport, UnknownLabel
from taxocaps.corpus.statistics import check_corpus as check_documents
from taxocaps.corpus.writers import write_documents
from taxocaps.files import format_stem, refuse_same_file
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.workflows.sources import read_source

__all__ = ["CheckedCorpus", "check_corpus", "convert_corpus", "describe_counts"]


@dataclass(frozen=True)
class CheckedCorpus:
    """What a corpus holds.

    Attributes:
        corpus: Its numbers.
        findings: What may be wrong with it, one line each.
        skipped: Broken records that were skipped, with the first messages in `problems`.
        problems: The first few broken records.
    """

    corpus: CorpusReport
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
    reading = ReadReport()
    documents = _by_split(files, config or CorpusConfig(), reading, progress)
    labels = read_taxonomy(taxonomy) if taxonomy else None
    if language is None:
        found = check_documents(documents, labels)
    else:
        pipeline = TextPipeline(TextConfig(language=language))
        found = check_documents(documents, labels, tokenize=lambda text: pipeline.tokenize([text]).document(0))
    return CheckedCorpus(found, tuple(_findings(found)), reading.skipped, tuple(reading.messages))


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
    """The names of files as names of splits; files of one name are told apart by their folders."""
    names = [format_stem(file) for file in files]
    if len(set(names)) < len(names):
        names = [f"{file.absolute().parent.name}/{name}" for file, name in zip(files, names, strict=True)]
    return names


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


def _unknown(label: UnknownLabel) -> str:
    if not label.candidates:
        return f"unknown label {label.name!r}"
    return f"ambiguous label {label.name!r} ({' or '.join(map(repr, label.candidates[:5]))})"
