"""Explain why a trained model gives a document its labels."""

from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.encoding.store import is_store
from taxocaps.errors import ConfigError, CorpusError, FileError
from taxocaps.explanations.explain import ExplainOptions, explain_document, explain_encoded
from taxocaps.explanations.explanation import Explanation, JudgedLabel, LabelReasons
from taxocaps.files import atomic_text, is_decodable, refuse_same_file
from taxocaps.report.pages import explanation_page
from taxocaps.workflows.predict import as_model
from taxocaps.workflows.sources import find_document, find_encoded
from taxocaps.workflows.trained_on import read_like

__all__ = ["ExplainOptions", "Explanation", "JudgedLabel", "LabelReasons", "explain"]


def explain(
    model: Any,
    document: str | Document | Path,
    *,
    id: str | None = None,
    corpus: CorpusConfig | None = None,
    out: str | Path | None = None,
    trust_code: bool = False,
    **options: Any,
) -> Explanation:
    """Explain why a document gets its labels, and write an HTML page if `out` is given.

    Args:
        model: The folder of a model, or a fitted classifier.
        document: A text, a document, or the path of a file or store of documents.
        id: The id of the document in a file or store.
        corpus: How to read a file.
        out: The page to write.
        trust_code: Whether code that the model names may be run.
        options: What to explain: `labels` (by default those that the document gets or, if there are none, the nearest
            miss), `near_misses` (the number of further labels to list), and `method` (the name of an explainer).
    """
    wanted = ExplainOptions.model_validate(options)
    if isinstance(document, Path) and is_store(document):
        fitted = as_model(model, trust_code=trust_code)
        encoded = find_encoded(document, fitted.scorer.encoder, id, corpus, model=fitted.name)
        space = "" if fitted.scorer.encoder.pipeline.is_by_character else " "
        found = explain_encoded(fitted, encoded, space.join(encoded.tokens.document(0)), wanted)
    else:
        given = _as_document(model, document, id, corpus, Path(out) if out is not None else None)
        found = explain_document(as_model(model, trust_code=trust_code), given, wanted)
    if out is not None:
        with atomic_text(Path(out)) as page:
            page.write(explanation_page(found))
    return found


def _as_document(
    model: Any, document: str | Document | Path, id: str | None, corpus: CorpusConfig | None, out: Path | None
) -> Document:
    if isinstance(document, Path):
        if out is not None and str(document) != "-":
            refuse_same_file(document, out)
        return find_document(document, id, read_like(model, corpus))
    if not isinstance(document, str | Document):
        raise CorpusError(
            "one document is explained at a time: a text, a Document, or the Path of a file; "
            f"got {type(document).__name__}"
        )
    if id is not None or corpus is not None:
        raise ConfigError("id and corpus belong to a file of documents; give it as a Path, such as Path('test.jsonl')")
    if isinstance(document, Document):
        return document
    if not is_decodable(document):
        raise FileError("the text is not valid Unicode; put it into a file and name its encoding with --encoding")
    return Document(document)
