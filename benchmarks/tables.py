"""Measurements as Markdown tables."""

from dataclasses import dataclass

__all__ = ["Table"]

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
