"""The topic hierarchy of RCV1 (Lewis, Yang, Rose, Li 2004), from its official file or from the built-in copy."""

from pathlib import Path

from taxocaps.datasets.sources import Publication, Source, SourceFile
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PUBLICATION", "built_in_topics", "read_topics"]

PUBLICATION = Publication(
    "RCV1-v2 (LYRL2004)", "https://www.jmlr.org/papers/volume5/lewis04a/lyrl2004_rcv1v2_README.htm", ("199?????.zip",)
)
"""Where the official files come from; the news text itself, by day, comes from NIST."""

_BUILT_IN = Path(__file__).parent / "rcv1_topics.tsv"
_HIERARCHY = ("rcv1.topics.hier.orig", "rcv1.topics.hier.orig.txt", "rcv1.topics.hier")


def built_in_topics() -> Taxonomy:
    """The 103 topics under `Root`; the topic files of LYRL2004 may be distributed freely."""
    return read_taxonomy(_BUILT_IN)


def read_topics(source: Path | Source) -> Taxonomy:
    """The topics out of a folder with `rcv1.topics.hier.orig` or with a prepared `taxonomy.tsv`.

    Raises:
        FileError: When neither is there.
    """
    files = source if isinstance(source, Source) else Source(source, PUBLICATION)
    official = files.get(*_HIERARCHY)
    prepared: SourceFile | None = None if official else files.get("taxonomy.tsv")
    if not official and not prepared:
        raise files.missing(_HIERARCHY[0])
    with (official or files.one("taxonomy.tsv")).on_disk() as path:
        return read_taxonomy(path, format="hier" if official else "tsv")
