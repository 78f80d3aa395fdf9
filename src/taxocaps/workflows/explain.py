"""Explain why a trained model gives a document its labels."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, read_documents
from taxocaps.encoding.store import is_store
from taxocaps.errors import CorpusError, FileError
from taxocaps.explain.explain import explain_document, explain_encoded
from taxocaps.explain.explanation import Explanation
from taxocaps.files import atomic_text, is_decodable, refuse_same_file
from taxocaps.report.pages import explanation_page
from taxocaps.scorers.model import FittedModel
from taxocaps.workflows.predict import as_model
from taxocaps.workflows.sources import find_encoded

__all__ = ["Explanation", "explain", "find_document"]


def explain(  # noqa: PLR0913 - a front door: each argument stands for itself
    model: FittedModel | Path | str,
    document: str | Document | Path,
    *,
    id: str | None = None,
    corpus: CorpusConfig | None = None,
    labels: Sequence[str] = (),
    near_misses: int = 5,
    method: str | None = None,
    out: str | Path | None = None,
    trust_code: bool = False,
) -> Explanation:
    """Why a document gets its labels; written as an HTML page too, if `out` is given.

    Args:
        model: A model, or its folder.
        document: A text, a document, or the path of a file or store of documents.
        id: Which document of a file.
        corpus: How to read a file.
        labels: The labels to explain; by default all that are given or, if there are none, the nearest miss.
        near_misses: How many labels that were not given are listed, too.
        method: The name of an explainer, such as `occlusion`; by default the one of the model.
        out: The page to write.
        trust_code: Whether code that the model names may be run.
    """
    wanted: dict[str, Any] = {"labels": labels, "near_misses": near_misses, "method": method}
    if isinstance(document, Path) and is_store(document):
        fitted = as_model(model, trust_code=trust_code)
        encoded = find_encoded(document, fitted.scorer.encoder, id)
        space = "" if fitted.scorer.encoder.pipeline.is_by_character else " "
        found = explain_encoded(fitted, encoded, space.join(encoded.tokens.document(0)), **wanted)
    else:
        given = _as_document(document, id, corpus, Path(out) if out is not None else None)
        found = explain_document(as_model(model, trust_code=trust_code), given, **wanted)
    if out is not None:
        with atomic_text(Path(out)) as page:
            page.write(explanation_page(found))
    return found


def _as_document(
    document: str | Document | Path, id: str | None, corpus: CorpusConfig | None, out: Path | None
) -> Document:
    if isinstance(document, Path):
        return find_document(document, id, corpus, out=out)
    if isinstance(document, Document):
        return document
    if not is_decodable(document):
        raise FileError("the text is not valid Unicode; put it into a file and name its encoding with --encoding")
    return Document(document)


def find_document(
    source: Path, id: str | None = None, corpus: CorpusConfig | None = None, *, out: Path | None = None
) -> Document:
    """One document of a file; documents without an id have their position, counted from 1.

    Args:
        source: Documents in any format; `-` for standard input.
        id: Which one; may be left out if there is only one.
        corpus: How to read the documents.
        out: A file that will be written, which must not be `source`.

    Raises:
        CorpusError: If there is no such document, or there are several and none is named.
    """
    if out is not None and str(source) != "-":
        refuse_same_file(source, out)
    documents = read_documents(source, corpus)
    if id is None:
        first, *others = islice(documents, 2)  # a file without any is refused when it is read
        if others:
            raise CorpusError(f"{source}: has several documents; choose one of them with --id")
        return first
    for position, document in enumerate(documents, 1):
        if (document.id or str(position)) == id:
            return document
    raise CorpusError(f"{source}: no document has the id {id!r}")
