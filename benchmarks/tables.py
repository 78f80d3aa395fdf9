"""Measurements as Markdown tables."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["PERFORMANCE", "Table", "publish", "put_between", "with_between"]

PERFORMANCE = Path(__file__).parents[1] / "docs" / "performance.md"

Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class Table:
    """A measurement, ready to be printed or written into a page."""

    title: str
    header: tuple[str, ...]
    rows: Rows
    note: str = ""

    def body(self) -> str:
        """The rows as a Markdown table."""
        lines = ["| " + " | ".join(self.header) + " |"]
        lines.append("|" + "|".join(["---", *["---:"] * (len(self.header) - 1)]) + "|")
        return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in self.rows)])

    def markdown(self) -> str:
        """The table with its title and note."""
        return "\n".join([f"## {self.title}", "", self.body(), *(["", self.note] if self.note else []), ""])


def put_between(page: Path, mark: str, text: str) -> None:
    """Replace what stands between `<!-- mark -->` and `<!-- /mark -->` in a page."""
    page.write_text(with_between(page, mark, text), encoding="utf-8")


def with_between(page: Path, mark: str, text: str) -> str:
    """A page with another text between `<!-- mark -->` and `<!-- /mark -->`."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{text}\n{end}{after}"


def publish(tables: list[Table], mark: str, *, write: bool) -> None:
    """Print tables and, if `write` says so, put them into their place in docs/performance.md."""
    text = "\n".join(table.markdown() for table in tables)
    print(text, flush=True)
    if write:
        put_between(PERFORMANCE, mark, text.rstrip() + "\n")
