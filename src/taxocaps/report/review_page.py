"""A self-contained HTML page about a labelled corpus: what looks wrong in it, and what would make it better."""

from taxocaps._version import __version__
from taxocaps.report.pages import render_page
from taxocaps.results import plain
from taxocaps.reviewing.findings import Review
from taxocaps.reviewing.labels import FEW_DOCUMENTS

__all__ = ["review_page"]


def review_page(review: Review, name: str) -> str:
    """Suspicious labels, the learning curve, what to label next, and documents and labels that deserve a look.

    Args:
        review: The findings.
        name: What the corpus is called.

    Returns:
        The text of an HTML page that needs no network.
    """
    data = {**plain(review), "version": __version__, "few": FEW_DOCUMENTS}
    return render_page("review_page", f"{name}: review", data, "report")
