"""Small pieces of HTML by which results show themselves in notebooks; all text in them is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["Markup", "bar", "table"]


class Markup(str):
    """HTML that is ready to be shown; any other text is escaped."""

    __slots__ = ()


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table; cells are texts, numbers or `Markup`.

    >>> table(["label"], [["<b>"]])
    '<table><thead><tr><th>label</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bar(share: float) -> Markup:
    """A share between 0 and 1 as a bar with its number."""
    width = f"{100 * min(max(share, 0.0), 1.0):.0f}"
    return Markup(f'<meter min="0" max="100" value="{width}" style="width: 8em"></meter> {share:.2f}')


def _cell(value: object) -> str:
    if isinstance(value, Markup):
        return value
    return escape(f"{value:.4f}" if isinstance(value, float) else str(value))
