"""An evaluation as tables: for a terminal, and as Markdown for model cards."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from taxocaps.metrics.classification import Averages
from taxocaps.metrics.evaluation import Evaluation

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["evaluation_markdown", "evaluation_tables"]

_SUMMARY_HEADINGS = ("", "precision", "recall", "F1", "nDCG")


def evaluation_tables(evaluation: Evaluation, *, per_label: bool = False) -> "list[Table]":
    """The tables to print: a summary, the levels of the taxonomy if it is known, and the labels if asked for.

    Args:
        evaluation: The figures.
        per_label: Whether to add a row for each label, the most frequent first.
    """
    tables = [_summary_table(evaluation)]
    if evaluation.level_rows:
        tables.append(_level_table(evaluation))
    if per_label:
        tables.append(_label_table(evaluation))
    return tables


def evaluation_markdown(evaluation: Evaluation) -> str:
    """The summary as a Markdown table, followed by a list of the figures that are single numbers."""
    lines = [_markdown_row(_SUMMARY_HEADINGS), "|---|" + "---:|" * (len(_SUMMARY_HEADINGS) - 1)]
    lines += [_markdown_row(row) for row in _summary_rows(evaluation)]
    lines += ["", *(f"- {note}" for note in _notes(evaluation))]
    return "\n".join(lines) + "\n"


def _summary_rows(evaluation: Evaluation) -> Iterator[tuple[str, str, str, str, str]]:
    flat = evaluation.flat
    yield _averages_row("micro", flat.micro)
    yield _averages_row("macro", flat.macro)
    yield ("macro, F1 of means", "", "", _number(flat.macro_of_means_f1), "")
    yield _averages_row("samples", flat.samples)
    if evaluation.hierarchical is not None:
        yield _averages_row("hierarchical", evaluation.hierarchical)
    if (ranking := evaluation.ranking) is not None:
        for k in ranking.precision:
            yield (f"@{k}", _number(ranking.precision[k]), _number(ranking.recall[k]), "", _number(ranking.ndcg[k]))


def _averages_row(name: str, averages: Averages) -> tuple[str, str, str, str, str]:
    return (name, _number(averages.precision), _number(averages.recall), _number(averages.f1), "")


def _notes(evaluation: Evaluation) -> Iterator[str]:
    flat = evaluation.flat
    yield f"documents: {evaluation.documents:,}"
    yield f"labels: {evaluation.labels:,} ({flat.labels_with_support:,} of them carried by a document)"
    yield f"subset accuracy: {_number(flat.subset_accuracy)}"
    yield f"Hamming loss: {flat.hamming_loss:.5f}"
    if evaluation.calibration_error is not None:
        yield f"calibration error: {evaluation.calibration_error:.5f}"
    if evaluation.unseen:
        missed = sum(evaluation.unseen.values())
        yield f"labels that the model does not know: {len(evaluation.unseen):,}, missed {missed:,} times"


def _summary_table(evaluation: Evaluation) -> "Table":
    from rich.text import Text

    table = _table(*_SUMMARY_HEADINGS)
    for row in _summary_rows(evaluation):
        table.add_row(*row)
    table.caption = Text("\n".join(_notes(evaluation)), style="not italic")
    table.caption_justify = "left"
    return table


def _level_table(evaluation: Evaluation) -> "Table":
    table = _table("level", "labels", "support", "precision", "recall", "F1", "macro F1")
    for row in evaluation.level_rows:
        figures = (row.micro.precision, row.micro.recall, row.micro.f1, row.macro_f1)
        table.add_row(str(row.level), f"{row.labels:,}", f"{row.support:,}", *map(_number, figures))
    return table


def _label_table(evaluation: Evaluation) -> "Table":
    from rich.text import Text

    table = _table("label", "level", "support", "predicted", "precision", "recall", "F1")
    for row in sorted(evaluation.label_rows, key=lambda row: -row.support):
        # A Text is printed as it is, and cut rather than wrapped where the window is narrow.
        name = Text(row.label, no_wrap=True, overflow="ellipsis")
        level = "" if row.level is None else str(row.level)
        figures = map(_number, (row.precision, row.recall, row.f1))
        table.add_row(name, level, f"{row.support:,}", f"{row.predicted:,}", *figures)
    return table


def _table(first: str, *headings: str) -> "Table":
    """A table whose first column gives way when the window is narrow; the others hold numbers."""
    from rich.table import Table

    table = Table(box=None)
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _markdown_row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:.4f}"
