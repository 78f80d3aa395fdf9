"""From files to a model, labels and reasons; and from a text to its graph of words, in a few lines."""

import tempfile
from pathlib import Path

import taxocaps

# One document: which words are central, and what stands around them?
text = Path(__file__).with_name("musk.txt").read_text(encoding="utf-8")
graph = taxocaps.graph_of_words(text)
word = graph.central_words[0]
print(f"most central: {word!r}, closeness {graph.closeness[word]:.3f}, at positions {graph.positions[word]}")
for block in graph.row(word).blocks:
    print("   ", " ".join(block.words))

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)

    # A taxonomy is a file of parents and children, or a dict; labels may have several parents.
    taxonomy = taxocaps.read_taxonomy({"business": ["cars", "oil"], "technology": ["cars"], "sport": ["football"]})
    print(taxonomy, taxonomy.with_ancestors(["cars"]))

    # A few made-up documents, encoded once into a store for networks over graphs, which linear models can read, too.
    texts = {
        "cars": "Car makers build electric engines and batteries for the road.",
        "oil": "Crude oil prices rose as tankers left the refinery.",
        "football": "The striker scored and the keeper lost the match.",
    }
    documents = [taxocaps.Document(text, labels=taxonomy.with_ancestors([label])) for label, text in texts.items()]
    taxocaps.write_documents(documents * 5, folder / "train.jsonl")
    taxocaps.encode(folder / "train.jsonl", folder / "store", model="HE-AGCRCNN")
    store = taxocaps.open_store(folder / "store")
    print(f"{len(store)} documents, {store.lengths.sum()} words, {store.encoding('words-matrix').lengths.sum()} rows")

    # A linear model; leave out `model`, here and above, for the default model, which joins several.
    taxocaps.train(folder / "store", folder / "model", taxonomy=taxonomy, model="SVM")
    for prediction in taxocaps.predict(folder / "model", ["Oil prices fell again."]):
        print([label.label for label in prediction.labels])
    explanation = taxocaps.explain(folder / "model", "Oil prices fell again.", labels=["oil"])
    print([found.word for found in explanation.reasons[0].words])
