import pytest

from taxocaps.errors import FileError
from taxocaps.report.curves import Curve, plot_curves

CURVES = [Curve("one", (0, 1, 2), (0.1, 0.5, 0.3)), Curve("two", (0, 1, 2), (0.2, 0.1, 0.0))]


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_plot_in_every_format(tmp_path, suffix, start):
    plot_curves(CURVES, tmp_path / f"p{suffix}", x="x", y="y", title="t")
    assert (tmp_path / f"p{suffix}").read_bytes().startswith(start)


def test_names_stand_in_the_legend(tmp_path):
    plot_curves(CURVES, tmp_path / "p.svg", x="threshold", y="F1", title="A title")
    page = (tmp_path / "p.svg").read_text()
    assert all(f"<!-- {name} -->" in page for name in ("one", "two", "threshold", "A title"))


def test_an_unknown_format(tmp_path):
    with pytest.raises(FileError, match=r"p\.gif: a plot is written as"):
        plot_curves(CURVES, tmp_path / "p.gif", x="x", y="y", title="t")
