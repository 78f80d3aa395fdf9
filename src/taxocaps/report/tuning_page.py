"""A self-contained HTML page about a search for better options."""

from taxocaps._version import __version__
from taxocaps.report.pages import render_page
from taxocaps.results import Tuning, plain

__all__ = ["tuning_page"]


def tuning_page(tuning: Tuning) -> str:
    """The history of the search, the importance of options, the score over each of them, all trials, the best options.

    Args:
        tuning: The result of the search.

    Returns:
        The text of an HTML page that needs no network.
    """
    return render_page("tuning_page", f"{tuning.model}: search", {**plain(tuning), "version": __version__}, "report")
