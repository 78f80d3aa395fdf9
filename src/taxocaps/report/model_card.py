"""A model card: what a model is, what it was trained on and how good it is, in Markdown."""

from collections.abc import Mapping
from dataclasses import dataclass

from taxocaps._version import __version__
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.report.evaluation import evaluation_markdown

__all__ = ["ModelCard", "model_card"]

_HELD_OUT = "For validation some of the training documents were held out, or all used where there are very few."


@dataclass(frozen=True)
class ModelCard:
    """What a card says.

    Attributes:
        name: The model's name.
        preset: The preset it was trained with.
        seed: Its seed.
        documents: Documents of each part.
        labels: Labels it can give.
        parameters: Weights that were learned.
        is_tuned: Whether thresholds were tuned on the validation documents.
        epochs: Epochs that were trained, and the one that was kept; 0 for a model that has none.
        validation: Figures on the validation documents.
        test: Figures on the test documents.
    """

    name: str
    preset: str
    seed: int
    documents: Mapping[str, int]
    labels: int
    parameters: int
    is_tuned: bool
    epochs: tuple[int, int]
    validation: Evaluation
    test: Evaluation | None


def model_card(card: ModelCard) -> str:
    """The card as Markdown."""
    parts = ", ".join(f"{count:,} {name}" for name, count in card.documents.items())
    trained, kept = card.epochs
    epochs = f"; {trained} epoch{'s' * (trained != 1)} trained, epoch {kept} kept (`history.csv`)" if trained else ""
    lines = [
        f"# {card.name}, trained by taxocaps {__version__}",
        "",
        f"Gives documents labels out of a taxonomy of {card.labels:,} labels (`labels.json`, `taxonomy.tsv`).",
        "",
        f"- Documents: {parts}. {_HELD_OUT if 'dev' not in card.documents else ''}",
        f"- Preset `{card.preset}`, seed {card.seed}; every option stands in `config.yaml`.",
        f"- {card.parameters:,} weights{epochs}.",
        "",
        "## On the validation documents",
        "",
        *(["Thresholds were tuned on these, so the figures flatter a little.", ""] if card.is_tuned else []),
        evaluation_markdown(card.validation),
        "",
    ]
    if card.test is not None:
        lines += ["## On the test documents", "", evaluation_markdown(card.test), ""]
        if card.test.unseen:
            missed = sum(card.test.unseen.values())
            lines += [f"{missed:,} labels of test documents do not occur in training; they count as missed.", ""]
    lines += [
        "## Use",
        "",
        "```",
        'taxocaps predict THIS_FOLDER --text "..."',
        "taxocaps predict THIS_FOLDER documents.jsonl --output labels.jsonl",
        "taxocaps evaluate THIS_FOLDER test.jsonl",
        "```",
        "",
        "Labels are suggestions of a statistical model: it knows the words and labels of its training documents and",
        "nothing else. Figures for every label and level stand in `report.html`, and as data in `metrics.json`.",
    ]
    return "\n".join(line.strip() for line in lines).strip() + "\n"
