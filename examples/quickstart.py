"""From a text to its graph-of-words, and from a corpus to words-matrices on disk, in a few lines."""

import tempfile
from pathlib import Path

import taxocaps

# One document: who stands in the middle of the text, and in which contexts?
text = Path(__file__).with_name("musk.txt").read_text(encoding="utf-8")
graph = taxocaps.graph_of_words(text)
word = graph.central_words[0]
print(f"most central: {word!r}, closeness {graph.closeness[word]:.3f}, at positions {graph.positions[word]}")
for block in graph.row(word).blocks:
    print("   ", " ".join(block.words))

with tempfile.TemporaryDirectory() as folder:
    # A taxonomy is a file of parents and children; labels may have several parents.
    labels = Path(folder) / "labels.tsv"
    labels.write_text("Root\tbusiness\nRoot\ttechnology\nbusiness\telectric cars\ntechnology\telectric cars\n")
    taxonomy = taxocaps.read_taxonomy(labels)
    print(taxonomy, taxonomy.close(["electric cars"]))

    # Many documents: encoded once, opened in milliseconds ever after.
    corpus = Path(folder) / "corpus.jsonl"
    taxocaps.write_documents([taxocaps.Document(text, id="musk", labels=("electric cars",))], corpus)
    taxocaps.encode(corpus, Path(folder) / "store")
    store = taxocaps.open_store(Path(folder) / "store")
    print(f"{len(store)} document, {len(store.matrices.words)} rows of {store.matrices.words.shape[1]} words")
