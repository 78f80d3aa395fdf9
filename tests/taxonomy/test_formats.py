"""A file's name tells its format."""

from pathlib import Path

import pytest

from taxocaps.errors import ConfigError, FileError
from taxocaps.taxonomy.formats import taxonomy_format


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.tsv", "tsv"),
        ("a.TSV.gz", "tsv"),
        ("a.txt", "tsv"),
        ("rcv1.topics.hier", "hier"),
        ("rcv1.topics.hier.orig", "hier"),
        ("a.json.zst", "json"),
        ("a.yml", "yaml"),
        ("a.yaml.xz", "yaml"),
        ("a.ttl", "skos"),
        ("a.rdf", "skos"),
        ("a.jsonld", "skos"),
    ],
)
def test_the_suffix_tells_the_format(name, expected):
    assert taxonomy_format(Path(name)) == expected


def test_a_format_that_is_named_wins():
    assert taxonomy_format(Path("a.json"), "skos") == "skos"
    assert taxonomy_format(Path("a"), "tsv") == "tsv"


def test_unknown_suffixes_and_names_are_refused_with_what_is_allowed():
    with pytest.raises(
        FileError, match=r"^a\.csv: the suffix '\.csv' tells no taxonomy format; .*tsv, hier, json, yaml, skos"
    ):
        taxonomy_format(Path("a.csv"))
    with pytest.raises(FileError, match="tells no taxonomy format"):
        taxonomy_format(Path("a.gz"))
    with pytest.raises(ConfigError, match="must be one of tsv, hier, json, yaml, skos; got 'csv'"):
        taxonomy_format(Path("a.tsv"), "csv")
