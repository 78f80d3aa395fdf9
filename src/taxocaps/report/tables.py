"""Evaluations as tables: for a terminal, and as Markdown for model cards.

Metrics are read from the plain values that `Evaluation.as_dict` gives, which is also how model cards hold them.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from taxocaps._version import __version__
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.results import ModelCard
from taxocaps.scorers.decision import DECISION_RULES

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "evaluation_markdown",
    "evaluation_tables",
    "is_tuned",
    "model_card",
    "quality_table",
    "standings_table",
    "validated_on",
]

_Metrics = Mapping[str, Any]

_SUMMARY_HEADINGS = ("", "precision", "recall", "F1", "nDCG")
_PROBABILITIES = "Scores are probabilities, for documents like those that it was trained on."
_NO_PROBABILITIES = "Scores are not probabilities: there were too few documents, or `decision.calibration` was none."


def evaluation_tables(evaluation: Evaluation, *, per_label: bool = False) -> "list[Table]":
    """The tables to print: a summary, the levels of the taxonomy if it is known, and the labels if asked for.

    Args:
        evaluation: The metrics.
        per_label: Whether to add a row for each label, the most frequent first.
    """
    metrics = evaluation.as_dict()
    tables = [_summary_table(metrics)]
    if metrics["level_rows"]:
        tables.append(_level_table(metrics))
    if per_label:
        tables.append(_label_table(metrics))
    return tables


def quality_table(evaluation: Evaluation) -> "Table":
    """How good labels are, in one short table: of all of them, of the labels on average, and of each level."""
    metrics = evaluation.as_dict()
    flat, levels = metrics["flat"], metrics["level_rows"]
    table = _table("", "precision", "recall", "F1")
    table.add_row(*_averages_row("all labels (micro)", flat["micro"])[:4])
    table.add_row(*_averages_row("mean of labels (macro)", flat["macro"])[:4])
    for row in (row for row in levels if len(levels) > 1 and row["support"]):
        labels = f"{row['labels']:,} label{'s' * (row['labels'] != 1)}"
        table.add_row(*_averages_row(f"level {row['level']}, {labels}", row["micro"])[:4])
    table.caption, table.caption_justify = _in_words(metrics), "left"
    return table


def _in_words(metrics: _Metrics) -> "Text":
    """The same of a hundred documents."""
    from rich.text import Text

    exact = f"{metrics['flat']['subset_accuracy']:.0%} of documents get exactly their labels"
    ranking = metrics["ranking"]
    best = f"; the most probable label is right for {ranking['precision']['1']:.0%}" if ranking is not None else ""
    return Text(exact + best, style="not italic")


def model_card(card: ModelCard) -> str:
    """What a model is, what it was trained on and how good it is, as Markdown."""
    parts = ", ".join(f"{count:,} {name}" for name, count in card.documents.items())
    epochs = f"; {card.epochs} epoch{'s' * (card.epochs != 1)} trained, epoch {card.best_epoch} kept (`history.csv`)"
    lines = [
        f"# {card.name}, trained by taxocaps {__version__}",
        "",
        f"Gives documents labels out of a taxonomy of {card.labels:,} labels (`labels.json`, `taxonomy.json`).",
        "",
        f"- Documents: {parts}. The model has learned from all training documents.",
        f"- Preset `{card.preset}`, seed {card.seed}; all options are in `config.yaml`.",
        f"- {card.parameters:,} parameters{epochs if card.epochs else ''}.",
        f"- {_PROBABILITIES if card.is_calibrated else _NO_PROBABILITIES}",
        "",
        *_rare_labels(card),
        *_measured(card),
        "## Use",
        "",
        "```",
        'taxocaps predict THIS_FOLDER --text "..."',
        "taxocaps predict THIS_FOLDER documents.jsonl --output labels.jsonl",
        "taxocaps evaluate THIS_FOLDER test.jsonl",
        "```",
        "",
        "Labels are suggestions of a statistical model: it knows the words and labels of its training documents and",
        "nothing else. Metrics for every label and level are in `report.html`, and as data in `metrics.json`.",
    ]
    return "\n".join(line.strip() for line in lines).strip() + "\n"


def validated_on(card: ModelCard) -> str:
    """The documents that `ModelCard.validation` is about, in words."""
    return _VALIDATED_ON[card.validation_kind]


_VALIDATED_ON = {
    "held-out": "validation documents",
    "out-of-fold": "training documents, out of fold",
    "learned": "training documents that it has learned from",
}


def is_tuned(card: ModelCard) -> bool:
    """Whether the thresholds of a model were tuned on its validation documents."""
    return DECISION_RULES[card.rule].is_tuned


def evaluation_markdown(evaluation: _Metrics) -> str:
    """The summary as a Markdown table, followed by a list of the metrics that are single numbers."""
    lines = [_markdown_row(_SUMMARY_HEADINGS), "|---|" + "---:|" * (len(_SUMMARY_HEADINGS) - 1)]
    lines += [_markdown_row(row) for row in _summary_rows(evaluation)]
    lines += ["", *(f"- {note}" for note in _notes(evaluation))]
    return "\n".join(lines) + "\n"


def standings_table(card: ModelCard) -> "Table":
    """What each member of a joined model reaches, and all of them together, on documents not learned from."""
    from rich.table import Table

    table = Table(box=None)
    for heading in ("out of fold", "micro F1", "macro F1"):
        table.add_column(heading, justify="left" if heading == "out of fold" else "right")
    for one in card.standings:
        table.add_row(_standing(one), _number(one["micro_f1"]), _number(one["macro_f1"]))
    return table


def _standing(one: _Metrics) -> str:
    return str(one["name"]) if one["is_used"] else f"{one['name']} (left out)"


def _rare_labels(card: ModelCard) -> Iterator[str]:
    if card.rare_labels:
        yield from ("## Labels with only one or two training documents", "")
        yield ", ".join(f"`{name}` ({count})" for name, count in card.rare_labels.items())
        yield ""


def _standings(card: ModelCard) -> Iterator[str]:
    if card.standings:
        yield from (
            "## Members, on training documents out of fold",
            "",
            "|  | micro F1 | macro F1 |",
            "|---|---:|---:|",
        )
        for one in card.standings:
            yield f"| {_standing(one)} | {_number(one['micro_f1'])} | {_number(one['macro_f1'])} |"
        yield ""


def _measured(card: ModelCard) -> Iterator[str]:
    yield from _standings(card)
    if card.validation is not None:
        yield from (f"## On the {validated_on(card)}", "")
        if is_tuned(card):
            yield from ("Thresholds were tuned on these documents, so the metrics are slightly optimistic.", "")
        yield from (evaluation_markdown(card.validation), "")
    if card.test is not None:
        yield from ("## On the test documents", "", evaluation_markdown(card.test), "")
        if missed := sum(card.test["unseen"].values()):
            yield from (f"{missed:,} labels of test documents do not occur in training; they count as missed.", "")


def _summary_rows(evaluation: _Metrics) -> Iterator[tuple[str, str, str, str, str]]:
    flat = evaluation["flat"]
    yield _averages_row("micro", flat["micro"])
    yield _averages_row("macro", flat["macro"])
    yield ("macro, F1 of means", "", "", _number(flat["macro_of_means_f1"]), "")
    yield _averages_row("samples", flat["samples"])
    if evaluation["hierarchical"] is not None:
        yield _averages_row("hierarchical", evaluation["hierarchical"])
    if (ranking := evaluation["ranking"]) is not None:
        for k in ranking["precision"]:
            precision, recall, ndcg = (_number(ranking[name][k]) for name in ("precision", "recall", "ndcg"))
            yield (f"@{k}", precision, recall, "", ndcg)


def _averages_row(name: str, averages: Mapping[str, float]) -> tuple[str, str, str, str, str]:
    return (name, _number(averages["precision"]), _number(averages["recall"]), _number(averages["f1"]), "")


def _notes(evaluation: _Metrics) -> Iterator[str]:
    flat = evaluation["flat"]
    yield f"documents: {evaluation['documents']:,}"
    yield f"labels: {evaluation['labels']:,} ({flat['labels_with_support']:,} of them occur in the documents)"
    yield f"subset accuracy: {_number(flat['subset_accuracy'])}"
    yield f"Hamming loss: {flat['hamming_loss']:.5f}"
    if evaluation["calibration_error"] is not None:
        yield f"calibration error: {evaluation['calibration_error']:.5f}"
    for name, value in evaluation.get("extra", {}).items():  # metrics of other packages
        yield f"{name}: {_number(value)}"
    if new := evaluation.get("new_labels"):
        yield (
            f"labels without training documents: carried {new['support']:,} times, given {new['predicted']:,} times, "
            f"F1 {_number(new['micro']['f1'])}"
        )
    if unseen := evaluation["unseen"]:
        yield f"labels that the model does not know: {len(unseen):,}, missed {sum(unseen.values()):,} times"
    if any(added := evaluation["added"].values()):
        yield "ancestors added without training documents: {:,} rightly, {:,} wrongly".format(*added)


def _summary_table(evaluation: _Metrics) -> "Table":
    from rich.text import Text

    table = _table(*_SUMMARY_HEADINGS)
    for row in _summary_rows(evaluation):
        table.add_row(*row)
    table.caption = Text("\n".join(_notes(evaluation)), style="not italic")
    table.caption_justify = "left"
    return table


def _level_table(evaluation: _Metrics) -> "Table":
    table = _table("level", "labels", "support", "precision", "recall", "F1", "macro F1")
    for row in evaluation["level_rows"]:
        averages = _averages_row("", row["micro"])[1:4]
        table.add_row(
            str(row["level"]), f"{row['labels']:,}", f"{row['support']:,}", *averages, _number(row["macro_f1"])
        )
    return table


def _label_table(evaluation: _Metrics) -> "Table":
    from rich.text import Text

    table = _table("label", "level", "support", "predicted", "precision", "recall", "F1")
    for row in sorted(evaluation["label_rows"], key=lambda row: -row["support"]):
        # A Text is printed without markup, and shortened rather than wrapped where the window is narrow.
        name = Text(row["label"], no_wrap=True, overflow="ellipsis")
        level = "" if row["level"] is None else str(row["level"])
        table.add_row(name, level, f"{row['support']:,}", f"{row['predicted']:,}", *_averages_row("", row)[1:4])
    return table


def _table(first: str, *headings: str) -> "Table":
    """A table whose first column shrinks when the window is narrow; the others hold numbers."""
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
