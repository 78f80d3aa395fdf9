"""Explain why a trained model gives a document its labels."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from taxocaps.corpus.document import Document
from taxocaps.corpus.fields import CorpusConfig
from taxocaps.corpus.readers import read_documents
from taxocaps.errors import CorpusError, FileError
from taxocaps.estimators.explainer import explain_document
from taxocaps.estimators.explanations import Explanation
from taxocaps.estimators.model import FittedModel
from taxocaps.estimators.persistence import load_model
from taxocaps.files import atomic_text, is_decodable, refuse_same_file
from taxocaps.report.explanation_page import explanation_page

__all__ = ["Explanation", "explain", "find_document"]


def explain(
    model: str | Path | FittedModel,
    document: str | Document,
    *,
    labels: Sequence[str] = (),
    near_misses: int = 5,
    out: str | Path | None = None,
    trust_code: bool = False,
) -> Explanation:
    """Why a document gets its labels; written as an HTML page too, if `out` is given.

    Args:
        model: A model, or its folder.
        document: A text, or a document out of a file.
        labels: The labels to explain; by default all that are given or, if there are none, the nearest miss.
        near_misses: How many labels that were not given are told too.
        out: The page to write.
        trust_code: Whether a tokenizer that the model names may be run.
    """
    if isinstance(document, str):
        if not is_decodable(document):
            raise FileError("the text is not valid Unicode; put it into a file and name its encoding with --encoding")
        document = Document(document)
    if not isinstance(model, FittedModel):
        model = load_model(Path(model), trust_code=trust_code)
    found = explain_document(model, document.content, title=document.id, labels=labels, near_misses=near_misses)
    if out is not None:
        with atomic_text(Path(out)) as page:
            page.write(explanation_page(found))
    return found


def find_document(
    source: Path, id: str | None = None, corpus: CorpusConfig | None = None, *, out: Path | None = None
) -> Document:
    """One document of a file; documents without an id have their place, counted from 1.

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
    for number, document in enumerate(documents, 1):
        if (document.id or str(number)) == id:
            return document
    raise CorpusError(f"{source}: no document has the id {id!r}")
