"""Look at one document: its graph-of-words, drawn, and its arranged words-matrix."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from taxocaps.corpus.readers import CorpusConfig, format_of
from taxocaps.encoding.store import is_store, read_manifest
from taxocaps.errors import FileError
from taxocaps.explanations.explainers import describe_graph, describe_rows
from taxocaps.explanations.explanation import GraphNode, MatrixRow
from taxocaps.files import atomic_text, is_decodable, refuse_same_file
from taxocaps.graph.config import GraphConfig
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.progress import Progress, silent
from taxocaps.report.pages import graph_page
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.tokens import Tokens
from taxocaps.workflows.config import EncodeConfig, refuse_both, resolve_graph_config
from taxocaps.workflows.sources import find_document, find_encoded

__all__ = ["GraphReport", "graph_of_words", "inspect_document"]

_LONGEST_PATH = 255
_LONG_DOCUMENT = 5_000
"""Words from which the readable graph takes seconds, not moments."""


@dataclass(frozen=True)
class GraphReport:
    """The graph-of-words of a document, and its words-matrix.

    Attributes:
        tokens: The number of words that are kept of the document.
        words: The number of distinct words.
        edges: The number of edges of the graph.
        central_words: The most central words, one for each row of the matrix at most.
        matrix: The rows of the words-matrix.
        page: The HTML page that was written, if any.
    """

    tokens: int
    words: int
    edges: int
    central_words: tuple[GraphNode, ...]
    matrix: tuple[MatrixRow, ...]
    page: str | None


def graph_of_words(
    document: str | Sequence[str], config: EncodeConfig | None = None, **options: object
) -> GraphOfWords:
    """The graph-of-words of a text, or of ready words.

    Args:
        document: The text, or the words.
        config: How the document is read; by default as the default network does, changed by `options`.
        options: Options by name, such as `graph__window=4`.

    >>> graph_of_words("Musk told the electric car company that he plans a purchase.").positions["company"]
    (5,)
    """
    refuse_both(config, options)
    config = config or resolve_graph_config(options=options)
    return _graph(TextPipeline(config.text).tokenize([document]), config)


def _graph(tokens: Tokens, config: EncodeConfig) -> GraphOfWords:
    graph = cast("GraphConfig", config.encodings["words-matrix"])
    return GraphOfWords(tokens.document(0), tokens.document_sentence_ends(0), graph)


def inspect_document(
    text_or_file: str,
    config: EncodeConfig | None = None,
    *,
    id: str | None = None,
    out: Path | None = None,
    most_words: int = 60,
    progress: Progress = silent,
) -> GraphReport:
    """Build the graph-of-words of a document, and draw it to an HTML page if `out` is given.

    Args:
        text_or_file: A text, the path of a text file, or "-" for standard input; with `id`, a file or store of
            documents.
        config: The options; `corpus` tells how a file is read.
        id: Take the document with this id out of a file of documents.
        out: The page to write.
        most_words: The number of words to draw.
        progress: Called when the work begins, if it will take more than a moment.
    """
    config = config or resolve_graph_config()
    if out is not None and os.path.exists(text_or_file):  # noqa: PTH110
        refuse_same_file(Path(text_or_file), out)
    if id is None:
        title, text = _read(text_or_file, config.corpus)
        graph = graph_of_words(text, config)
    else:
        title, graph = id, _graph(_find(Path(text_or_file), id, config), config)
    if len(graph.tokens) > _LONG_DOCUMENT:
        progress("building the graph of words", len(graph.tokens))
    drawn, matrix = describe_graph(graph), describe_rows(graph)
    if out is not None:
        with atomic_text(out) as page:
            page.write(graph_page(drawn, matrix, title, most_words))
    return GraphReport(
        tokens=len(graph.tokens),
        words=len(graph.words),
        edges=len(graph.edges),
        central_words=drawn.nodes[: graph.config.N],
        matrix=matrix,
        page=str(out) if out is not None else None,
    )


def _find(corpus: Path, id: str, config: EncodeConfig) -> Tokens:
    """The words of a document of a file or a store; those of a store are taken as they are, unless they are raw."""
    pipeline = TextPipeline(config.text)
    if not is_store(corpus):
        return pipeline.tokenize([find_document(corpus, id, config.corpus).content])
    tokens = find_encoded(corpus, None, id, config.corpus).tokens
    is_raw = read_manifest(corpus)["config"][TextConfig.section].get("tokenizer") == "raw"
    return pipeline.reread(tokens) if is_raw else tokens


def _read(text_or_file: str, corpus: CorpusConfig) -> tuple[str, str]:
    """A title and the text; a single word that looks like a path, but is none, is taken for a mistyped one."""
    as_text = corpus.replace(format="text")
    if text_or_file == "-":
        return "Standard input", find_document(Path("-"), corpus=as_text).text
    if not text_or_file.strip():
        raise FileError("the text is empty; give a text, a file, or - for standard input")
    path = Path(text_or_file)
    looks_like_path = len(text_or_file.split()) == 1 and ("/" in text_or_file or path.suffix)
    # os.path, unlike Path, answers False for a text that is too long to be a path.
    if not os.path.exists(text_or_file) and (not looks_like_path or len(text_or_file) > _LONGEST_PATH):  # noqa: PTH110
        if not is_decodable(text_or_file):
            raise FileError("the text is not valid Unicode; put it into a file and name its encoding with --encoding")
        return " ".join(text_or_file.split()[:8]) + " …", text_or_file
    if path.exists() and _is_of_documents(path):
        raise FileError(f"{path}: is a file of documents; choose one of them with --id")
    return path.name, find_document(path, corpus=as_text).text


def _is_of_documents(path: Path) -> bool:
    """Whether a file is known to hold documents in another format than plain text."""
    try:
        return is_store(path) or format_of(path) != "text"
    except FileError:
        return False
