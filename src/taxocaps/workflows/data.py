"""Write a data set as corpus files and a taxonomy file; which data sets there are stands here, in one table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from taxocaps.errors import ConfigError
from taxocaps.progress import Progress, silent

if TYPE_CHECKING:  # the command line reads the table when it starts, so nothing that takes time is imported here
    from taxocaps.corpus.document import Dataset, Document

__all__ = ["DATASETS", "DataOption", "DataReport", "DataSource", "write_dataset"]

_STEP = 10_000


@dataclass(frozen=True)
class DataOption:
    """An argument of a loader that a user can give.

    Attributes:
        help: What it does.
        choices: The values it may have, if these are known.
        default: The value it has otherwise.
        kind: What it is, if it has no choices: a path, or names separated by commas.
    """

    help: str
    choices: tuple[str, ...] = ()
    default: str | None = None
    kind: Literal["path", "names"] = "path"


@dataclass(frozen=True)
class DataSource:
    """A data set, and how it is loaded.

    Attributes:
        module: The module of `taxocaps.datasets` with its function `load`.
        help: What it is, for people.
        files: What is read from a folder of the user's; blank if it needs no such folder.
        options: The arguments of `load` that are its own.
    """

    module: str
    help: str
    files: str = ""
    options: Mapping[str, DataOption] = field(default_factory=dict)


DATASETS: Mapping[str, DataSource] = {
    "pydocs": DataSource(
        "pydocs",
        "Docstrings of Python and of the installed libraries, labelled with their place in the module tree.\n\n"
        "Nothing is downloaded: the texts are read from the source files on this machine.",
        options={
            "packages": DataOption(
                "Only these packages, such as networkx,scipy; python is the standard library.", kind="names"
            )
        },
    ),
    "toy": DataSource("toy", "Twelve made-up documents, for tests."),
    "reuters21578": DataSource(
        "reuters21578",
        "Reuters-21578: newswire of 1987, ModApte split, topics in groups.",
        "reut2-000.sgm to reut2-021.sgm and cat-descriptions_120396.txt, or reuters21578.jsonl.gz and taxonomy.tsv",
        {
            "subset": DataOption(
                "r90: the 90 topics with a training and a test document; r10: the ten most frequent; all: all 135; "
                "transfer: train on documents with one of eight topics, test on documents with several.",
                ("r90", "r10", "all", "transfer"),
                "r90",
            ),
            "rcv1": DataOption("For transfer: a folder with RCV1's taxonomy; a copy is built in."),
        },
    ),
    "rcv1": DataSource(
        "rcv1",
        "RCV1-v2 in the LYRL2004 split: 804,414 news stories of 1996/97, 103 topics.",
        "lyrl2004_tokens_*.dat, rcv1-v2.topics.qrels and rcv1.topics.hier.orig, or *newsML.xml",
    ),
    "eurlex": DataSource(
        "eurlex",
        "EU legislation with EUROVOC descriptors: EUR-Lex 4K, EURLEX57K, or prepared summaries.",
        "{train,test}_texts.txt, {train,test}_labels.txt and taxonomy.tsv or eurovoc.rdf; or {train,dev,test}/*.json "
        "and EURLEX57K.json; or eurlexsum_en.jsonl.gz and taxonomy.tsv",
    ),
    "arxiv": DataSource(
        "arxiv",
        "arXiv abstracts with their categories, split by the hash of the id.",
        "arxiv-metadata-oai-snapshot.json, or arxiv_subset.jsonl.gz",
    ),
    "debtags": DataSource(
        "debtags",
        "Debian package descriptions with their tags: facets such as what a package works with.",
        "debtags.jsonl.gz and taxonomy.tsv",
    ),
    "20newsgroups": DataSource(
        "newsgroups", "20 Newsgroups by date: subject and body, one group each.", "20news-bydate-train and -test"
    ),
    "wos": DataSource(
        "web_of_science",
        "Web of Science: abstracts with domain and area of research.",
        "X.txt, YL1.txt and YL2.txt, or folders WOS46985, WOS11967, WOS5736 with them",
        {
            "subset": DataOption(
                "Which of the three; by default the first that is there.", ("WOS46985", "WOS11967", "WOS5736")
            )
        },
    ),
}
"""The known data sets by name."""


@dataclass(frozen=True)
class DataReport:
    """What was written: documents per split, labels and levels of the taxonomy, and where."""

    out: str
    documents: dict[str, int]
    labels: int
    levels: int
    description: str


def write_dataset(
    name: str,
    out: Path,
    *,
    source: Path | None = None,
    options: Mapping[str, Any] | None = None,
    check: bool = True,
    progress: Progress = silent,
) -> DataReport:
    """Write a data set to a folder: `train.jsonl`, ... and `taxonomy.tsv`; each file appears when it is complete.

    Args:
        name: A key of `DATASETS`.
        out: The folder; files of the same names in it are replaced.
        source: The folder with the files of the data set, if it needs one.
        options: Values for `DataSource.options`; None stands for the default.
        check: Whether files and counts must be the official ones.
        progress: Told how far reading and writing are.

    Raises:
        ConfigError: When the data set or an option is not known, or there is no source.
        FileError: When a file is missing or cannot be written.
        CorpusError: When a count is not the official one.
    """
    from taxocaps.corpus.writers import write_documents
    from taxocaps.taxonomy.writers import write_taxonomy

    dataset = _load(name, source, options or {}, check, progress)
    counts = {
        split: write_documents(_watched(documents, split, progress), out / f"{split}.jsonl")
        for split, documents in dataset.splits.items()
    }
    write_taxonomy(dataset.taxonomy, out / "taxonomy.tsv")
    return DataReport(
        out=str(out),
        documents=counts,
        labels=len(dataset.taxonomy) - len(dataset.taxonomy.levels[0]),
        levels=len(dataset.taxonomy.levels) - 1,
        description=dataset.description,
    )


def _load(name: str, source: Path | None, options: Mapping[str, Any], check: bool, progress: Progress) -> "Dataset":
    if name not in DATASETS:
        raise ConfigError(f"unknown data set {name!r}; the known ones are {', '.join(DATASETS)}")
    entry = DATASETS[name]
    given = {option: value for option, value in options.items() if value is not None}
    unknown = sorted(given.keys() - entry.options.keys())
    if unknown:
        raise ConfigError(f"{name} has no option {unknown[0]!r}; it has: {', '.join(entry.options) or 'none'}")
    load = import_module(f"taxocaps.datasets.{entry.module}").load
    if entry.files and source is None:
        raise ConfigError(f"{name} needs a source: the folder with {entry.files}")
    if entry.files:
        return load(source, check=check, progress=progress, **given)  # type: ignore[no-any-return]
    return load(progress=progress, **given)  # type: ignore[no-any-return]


def _watched(documents: "Sequence[Document]", split: str, progress: Progress) -> "Iterator[Document]":
    for number, document in enumerate(documents, 1):
        yield document
        if number % _STEP == 0:
            progress(f"writing {split}", number)
