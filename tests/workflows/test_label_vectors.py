import numpy as np
import pytest

from taxocaps.errors import ConfigError, FileError
from taxocaps.taxonomy.embedding import LabelVectorsConfig
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.walks import WalkConfig
from taxocaps.text.vectors import load_vectors
from taxocaps.workflows.label_vectors import EmbedConfig, embed_taxonomy, reconstruct_taxonomy

SMALL = EmbedConfig(walks=WalkConfig(length=60, per_label=60), label_vectors=LabelVectorsConfig(dimension=12, epochs=2))


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.tsv"
    edges = [("Root", f) for f in "abc"] + [(f, f"{f} {n}") for f in "abc" for n in range(4)]
    path.write_text("".join(f"{parent}\t{child}\n" for parent, child in edges))
    return path


def test_vectors_are_written_as_word_vector_files_are(tmp_path, labels):
    stages = []
    report = embed_taxonomy(
        labels, tmp_path / "v.npz", SMALL, progress=lambda stage, done, total=None: stages.append(stage)
    )
    assert (report.labels, report.dimension) == (16, 12)
    assert set(stages) == {"learning label vectors"}
    written = load_vectors(tmp_path / "v.npz")
    assert tuple(written.words) == read_taxonomy(labels).names
    embed_taxonomy(labels, tmp_path / "v.tsv", SMALL)
    rows = [line.split("\t") for line in (tmp_path / "v.tsv").read_text().splitlines()]
    assert [row[0] for row in rows] == list(written.words)
    assert np.allclose(np.array([row[1:] for row in rows], float), written.vectors, rtol=1e-4)


def test_an_unknown_suffix_is_refused_before_the_work(tmp_path, labels):
    with pytest.raises(ConfigError, match=r"written as \.npz or \.tsv; got '\.txt'"):
        embed_taxonomy(labels, tmp_path / "v.txt", SMALL)


def test_vectors_are_not_written_over_their_taxonomy(labels):
    content = labels.read_text()
    with pytest.raises(FileError):
        embed_taxonomy(labels, labels, SMALL)
    assert labels.read_text() == content


@pytest.mark.slow
def test_reconstruction_of_every_kind_of_walk(tmp_path, labels):
    report = reconstruct_taxonomy(labels, SMALL, seeds=2, plot=tmp_path / "figure.png")
    assert (report.labels, report.edges, report.seeds) == (15, 15, 2)
    assert [result.kind for result in report.results] == ["meta-path", "steps", "plain"]
    for result in report.results:
        assert len(result.micro) == len(result.macro) == len(report.thresholds) == 101
        assert result.best_micro[0] == max(result.micro)
        assert result.micro[report.thresholds.index(result.best_micro[1])] == result.best_micro[0]
        assert 0 < result.best_macro[0] <= 1
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def no_work(stage, done, total=None):
    raise AssertionError("the mistake should be found before the work")


def test_a_plot_of_an_unknown_kind_is_refused(tmp_path, labels):
    with pytest.raises(FileError, match=r"a plot is written as \.png, \.svg, \.pdf"):
        reconstruct_taxonomy(labels, kinds=["plain"], seeds=1, plot=tmp_path / "figure.doc", progress=no_work)
