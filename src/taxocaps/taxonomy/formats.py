"""The file formats of taxonomies, and how a file's name tells which one it is."""

from pathlib import Path
from typing import Literal, cast, get_args

from taxocaps.errors import ConfigError, FileError
from taxocaps.files import format_suffix

__all__ = ["RDF_SYNTAXES", "TaxonomyFormat", "taxonomy_format"]

TaxonomyFormat = Literal["tsv", "hier", "json", "yaml", "skos"]

RDF_SYNTAXES = {
    ".ttl": "turtle",
    ".n3": "n3",
    ".nt": "nt",
    ".rdf": "xml",
    ".xml": "xml",
    ".jsonld": "json-ld",
}
"""The notations in which SKOS is written, by suffix, as rdflib names them."""

_FORMATS: dict[str, TaxonomyFormat] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".hier": "hier",
    ".orig": "hier",  # the official file is called rcv1.topics.hier.orig
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    **dict.fromkeys(RDF_SYNTAXES, "skos"),
}


def taxonomy_format(path: Path, name: str | None = None) -> TaxonomyFormat:
    """The format of a file: the one called `name`, or what the suffix says.

    >>> taxonomy_format(Path("eurovoc.ttl.gz"))
    'skos'
    """
    allowed = ", ".join(get_args(TaxonomyFormat))
    if name is not None:
        if name not in get_args(TaxonomyFormat):
            raise ConfigError(f"the format of a taxonomy must be one of {allowed}; got {name!r}")
        return cast("TaxonomyFormat", name)
    suffix = format_suffix(path)
    if suffix not in _FORMATS:
        raise FileError(
            f"{path}: the suffix {suffix!r} tells no taxonomy format; name the format ({allowed}) "
            f"or use a suffix out of {' '.join(_FORMATS)}"
        )
    return _FORMATS[suffix]
