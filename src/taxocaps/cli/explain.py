"""`taxocaps explain`: why a document gets its labels, as a page, as data, or in short."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxocaps.cli.console import console, print_json, tell
from taxocaps.cli.options import CORPUS_OPTIONS, MODEL_FOLDER, AsJson, Quiet, TrustCode, existing, with_config

if TYPE_CHECKING:
    from taxocaps.workflows.config import CorpusConfig
    from taxocaps.workflows.explain import Explanation, JudgedLabel, LabelReasons

__all__ = ["explain"]

_SHOWN_WORDS = 8


@with_config(*CORPUS_OPTIONS)
def explain(
    config: "CorpusConfig",
    model: Annotated[Path, MODEL_FOLDER],
    text: Annotated[str | None, typer.Option("--text", help="The text to explain.")] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--input", "-i", callback=existing, help="Documents in any format, or a store; - for JSONL on stdin."
        ),
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="Which document of --input.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="Explain this label, by its id or name, given or not; may be repeated."),
    ] = None,
    near_misses: Annotated[
        int | None, typer.Option(help="How many labels that were not given are shown. Default: 5.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="The explainer: linear, occlusion or words-matrix. Default: that of the model.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write an HTML page that explains it all.")] = None,
    trust_code: TrustCode = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show why a document gets its labels.

    For each label given, or for those of --label: the words that speak for it and against it and, in capsule models,
    what each row of the words-matrix gave to it. The page has the text tinted by these weights, labels with scores and
    thresholds, the words-matrix with block attention, and the graph of words; it needs no network.
    """
    from taxocaps.workflows.explain import explain as run

    if (text is None) == (source is None) or (id is not None and source is None):
        raise typer.BadParameter("give either --text, or --input and the --id of one of its documents")
    wanted = {"labels": label, "near_misses": near_misses, "method": method}
    explanation = run(
        model,
        text if source is None else source,  # type: ignore[arg-type]
        id=id,
        corpus=None if source is None else config,
        out=out,
        trust_code=trust_code,
        **{name: value for name, value in wanted.items() if value is not None},
    )
    if explanation.warning and not quiet:
        tell(f"warning: {explanation.warning}")
    if as_json:
        print_json(explanation)
    elif not quiet:
        _show(explanation)
        if out is not None:
            console().print(f"explained in {out}")


def _show(explanation: "Explanation") -> None:
    from rich.table import Table
    from rich.text import Text

    reasons = {one.label: one for one in explanation.reasons}
    table = Table(box=None, title=Text(explanation.title), title_justify="left")
    has_rows = any(one.rows for one in explanation.reasons)
    for name in ("", "label", "words for it", "rows routed to it" if has_rows else "what adds most"):
        table.add_column(name)
    for name in ("score", "threshold"):
        table.add_column(name, justify="right")
    for one in explanation.labels:
        found = reasons.get(one.label)
        words = [word.word for word in found.words if word.weight > 0] if found else []
        others = _evidence(found) if found else []
        table.add_row(
            "given" if one.is_given else "",
            Text(_paths(one, explanation.names)),
            Text(", ".join(words[:_SHOWN_WORDS])),
            Text(", ".join(others[:_SHOWN_WORDS])),
            f"{one.score:.3f}",
            "" if one.threshold is None else f"{one.threshold:.3f}",
        )
    if explanation.labels:
        console().print(table)


def _evidence(reasons: "LabelReasons") -> list[str]:
    """What else speaks for a label: rows in models that read a words-matrix, kinds of evidence in joined ones."""
    if reasons.rows is not None:
        return [row.central_word for row in reasons.rows if row.share > 0]
    return [f"{share.kind} {share.weight:+.1f}" for share in reasons.evidence if share.weight > 0]


def _paths(one: "JudgedLabel", names: Mapping[str, str]) -> str:
    """The paths to a label by name, one a line, the last with the id beside the name where they differ."""
    id = f" ({one.label})" if one.name != one.label else ""
    paths = one.paths or ((one.label,),)  # the root has no path
    return "\n".join(" › ".join(names.get(step, step) for step in path) + id for path in paths)
