"""Settings of all tests, and a model that many of them share."""

import gc
import os
import signal
import sys
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

# All that matters to the tests of scorers is named, whatever the defaults may be.
SMALL = {
    "bag": {"min_documents": 1},
    "vocabulary": {"min_count": 1},
    "graph": {"window": 3, "N": 10, "K": 25, "T": 11, "radius": 5},
    "tokens": {"length": 100},
    "vectors": {"source": "skip-gram", "dimension": 8, "epochs": 1},
    "loss": {"p": 1.0, "floor": 0.0, "upper": 0.9, "lower": 0.1, "down": 0.5},
    "walks": {"length": 20},
    "prior": {"kind": "none"},
    "label_vectors": {"dimension": 8},
    "training": {
        "epochs": 1,
        "min_steps": 0,
        "batch_size": 4,
        "learning_rate": 0.002,
        "vectors_rate": 1.0,
        "vectors_epsilon": 1e-8,
        "weight_decay": 0.0,
        "patience": 5,
        "device": "cpu",
    },
}

SMALL_NETWORKS = {
    "words-matrix": {
        "filters": (8, 8),
        "units": 8,
        "channels": 4,
        "capsule_size": 4,
        "label_capsule_size": 4,
        "hidden": (8,),
        "head_filters": 8,
        "iterations": 2,
        "gain": 5.0,
        "normalization": "none",
        "dropout": 0.0,
        "word_dropout": 0.0,
    },
    "dgcnn": {"filters": (8, 8), "width": 1, "hidden": (16,), "dropout": 0.0},
    "lstm": {"units": 8, "dropout": 0.0},
    "kim-cnn": {"filters": 8, "dropout": 0.0},
    "rcnn": {"context": 8, "hidden": 8, "dropout": 0.0},
    "xml-cnn": {"filters": 8, "chunks": 2, "bottleneck": 8, "dropout": 0.0},
    "hierarchical": {"units": 8, "attention_size": 8, "dropout": 0.0},
    "bi-blosan": {"units": 8, "block": 3, "dropout": 0.0},
    "sgm": {"units": 8, "layers": 1, "label_size": 8, "beam": 2, "dropout": 0.0},
    "vdcnn": {"filters": (8, 8, 16, 16), "k": 4, "hidden": 16},
    "capsule-text": {"filters": 16, "channels": 8, "capsule_size": 8, "iterations": 2},
}

# Machines are busy: an example that takes long is no failure. Where a change is judged, the same examples are tried
# every time; elsewhere new ones are.
settings.register_profile("house", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("judge", settings.get_profile("house"), derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") else "house")

# Images of containers often forbid it, but then each of many processes would compile all modules and tests anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts what runs in its background deaf to Ctrl-C, and so would be all processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Most objects of a run are modules and tests, and live to its end: to look through them for garbage, time and again,
# takes a tenth of the time.
gc.disable()


def pytest_collection_finish():
    """From here on there is garbage, though not among what was made so far."""
    gc.freeze()
    gc.enable()


def pytest_addoption(parser):
    """The options of `tests/campaigns`; `make campaign` gives them."""
    group = parser.getgroup("campaigns")
    group.addoption("--campaign-minutes", type=float, default=0.0, help="how long a campaign lasts; 0: a short form")
    group.addoption("--campaign-seed", type=int, help="the seed of mutations; the same one continues a campaign")
    group.addoption("--campaign-folder", default="build/campaign", help="where counts are kept")


@pytest.fixture(scope="session")
def tiny():
    """Options that make a network as small as can be, whatever the defaults are."""
    return (
        "model=HE-AGCRCNN",
        "vocabulary.min_count=1",
        "vectors.dimension=8",
        "vectors.epochs=1",
        "network.filters=[8,8]",
        "network.units=8",
        "network.channels=4",
        "network.capsule_size=4",
        "network.label_capsule_size=4",
        "network.hidden=[8]",
        "network.head_filters=8",
        "walks.length=20",
        "prior.kind=none",
        "label_vectors.dimension=8",
        "training.epochs=1",
        "training.min_steps=0",
        "training.batch_size=4",
        "training.device=cpu",
    )


@pytest.fixture(scope="session")
def small_options():
    """The options of a tiny model of the catalogue, as the classifier takes them."""
    from taxocaps.catalogue.presets import model_config

    def named(name):
        config = model_config(name, "default")
        sections = dict(SMALL)
        if config.scorer == "network":
            sections["network"] = SMALL_NETWORKS[config.network.kind]
            if config.network.kind == "vdcnn":
                sections["vectors"] = {"source": "none", "dimension": 4}
            if config.network.kind != "words-matrix":
                sections["loss"] = {}
        used = [section for section in sections if section in type(config).model_fields]
        options = {f"{section}__{key}": value for section in used for key, value in sections[section].items()}
        return options | ({"folds": 2} if config.scorer == "joined" else {})

    return named


@pytest.fixture(scope="session")
def small_config():
    """The configuration of a tiny model, by default of a network over words-matrices, from layers of options."""
    from taxocaps.config import merge
    from taxocaps.scorers.base import SCORERS

    def make(*layers):
        given = merge(*layers)
        given = merge({"scorer": "network"}, given)
        sections = dict(SMALL)
        if given["scorer"] == "network":
            given = merge({"network": {"kind": "words-matrix"}}, given)
            sections["network"] = SMALL_NETWORKS.get(given["network"]["kind"], {})
        kind = SCORERS[given["scorer"]].config_type(given)
        usual = {name: options for name, options in sections.items() if name in kind.model_fields}
        return kind.model_validate(merge(usual, given))

    return make


@pytest.fixture(scope="session")
def toys():
    """The twelve toy documents, their texts, their labels as a matrix, and the classes."""
    from taxocaps.corpus.labels import Classes, collect_classes, label_matrix
    from taxocaps.datasets import toy

    data = toy.load()
    documents = [document for _, document in data.documents()]
    names = collect_classes([document.labels for document in documents], data.taxonomy)
    return SimpleNamespace(
        documents=documents,
        texts=[document.text for document in documents],
        labels=label_matrix([document.labels for document in documents], names),
        classes=Classes(names, data.taxonomy),
    )


@pytest.fixture(scope="session")
def encode():
    """Encode texts, or lists of ready tokens, as a scorer reads them."""
    from taxocaps.corpus.document import Document

    def encode_them(scorer, contents):
        documents = [
            Document(content) if isinstance(content, str) else Document(tokens=tuple(content)) for content in contents
        ]
        return scorer.encoder.encode(documents)

    return encode_them


@pytest.fixture(scope="session")
def fit(small_config, toys, encode, tmp_path_factory):
    """Fit a tiny model to the toy documents, with further options."""
    from taxocaps.scorers.base import Examples, FitContext, make_scorer
    from taxocaps.scorers.fitting import fit_model
    from taxocaps.scorers.model import ModelName

    def fit_it(*layers, seed=0, **context):
        scorer = make_scorer(small_config(*layers), toys.classes, seed)
        examples = Examples(encode(scorer, toys.texts), toys.labels)
        name = ModelName("a model", "default", seed)
        return fit_model(name, scorer, examples, examples, FitContext(tmp_path_factory.mktemp("fit"), **context))

    return fit_it


@pytest.fixture(scope="session")
def fitted(fit):
    """A tiny network over words-matrices with capsules, fitted to the toy documents; not to be changed."""
    return fit({"training": {"epochs": 2}})


@pytest.fixture(scope="session")
def fit_network(fit):
    """Fit a tiny network of any kind to the toy documents, for one epoch."""
    return lambda kind, **sections: fit({"network": {"kind": kind}, "training": {"epochs": 1}}, sections)


@pytest.fixture(scope="session")
def keywords():
    """The class of a scorer that gives each label the share of the words of a document that are its name."""
    import numpy as np

    from taxocaps.results import FitReport
    from taxocaps.scorers.base import ModelConfig, Scorer
    from taxocaps.text.pipeline import TextConfig
    from taxocaps.text.vocabulary import Vocabulary

    class KeywordsConfig(ModelConfig):
        scorer: str = "keywords"
        text: TextConfig = TextConfig(tokenizer="none")

    class Keywords(Scorer):
        Config = KeywordsConfig
        explainer = "occlusion"
        parameters = 0

        @property
        def vocabulary(self):
            return Vocabulary.from_counts({name.lower(): 1 for name in self.classes.names})

        def fit(self, training, validation, context):
            return FitReport()

        def scores(self, documents):
            by_character = self.encoder.pipeline.is_by_character
            lists = [words for tokens in documents.token_chunks() for words in tokens.documents()]
            lists = ["".join(words).split() for words in lists] if by_character else lists
            shares = [
                [words.count(name.lower()) / max(1, len(words)) for name in self.classes.names] for words in lists
            ]
            return np.array(shares, np.float32).reshape(len(lists), len(self.classes))

        def _save(self, folder):
            (folder / "keywords.txt").write_text("none", encoding="utf-8")

        def _load(self, folder):
            (folder / "keywords.txt").read_text(encoding="utf-8")

    return Keywords


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of one module that adds to registries by entry points, for one test."""
    installed, changed = [], []

    def install_it(name, source, registry, **entries):
        folder = tmp_path / "site-packages"
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        lines = [
            f"[{registry.group}]",
            *(f"{key.replace('_', '-')} = {name}:{value}" for key, value in entries.items()),
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))
        vars(registry).pop("_external", None)  # what is installed was looked up before
        installed.append(name)
        changed.append(registry)

    yield install_it
    for registry in changed:
        vars(registry).pop("_external", None)
    for name in installed:
        sys.modules.pop(name, None)


@pytest.fixture(scope="session")
def toy_files(tmp_path_factory):
    """The twelve toy documents, whose field `split` parts them into train, dev and test, and their taxonomy."""
    from taxocaps.corpus.writers import write_documents
    from taxocaps.datasets import toy
    from taxocaps.taxonomy.writers import write_taxonomy

    folder, data = tmp_path_factory.mktemp("toy"), toy.load()
    write_documents([document for _, document in data.documents()], folder / "documents.jsonl")
    write_taxonomy(data.taxonomy, folder / "taxonomy.tsv")
    return SimpleNamespace(documents=folder / "documents.jsonl", taxonomy=folder / "taxonomy.tsv", data=data)


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory, toy_files, tiny):
    """A network trained on the toy documents; tests that would change it take a copy."""
    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.train import TrainFiles, train

    folder = tmp_path_factory.mktemp("toy-model") / "model"
    documents = toy_files.documents
    train(TrainFiles(documents, toy_files.taxonomy, documents, documents), folder, resolve_run_config(overrides=tiny))
    return folder


@pytest.fixture(scope="session")
def toy_linear_model(tmp_path_factory, toy_files):
    """A linear model of the toy documents: a process that loads it need not load torch; not to be changed."""
    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.train import TrainFiles, train

    folder = tmp_path_factory.mktemp("toy-linear-model") / "model"
    options = resolve_run_config(overrides=("model=SVM", "bag.min_documents=1"))
    train(TrainFiles(toy_files.documents, toy_files.taxonomy), folder, options)
    return folder


PIECES = "the a of and company car bank market price bo ##nd ##s club goal ##ers player song film . , ! in to is"
"""The pieces of a tiny encoder, beside single letters."""


@pytest.fixture(scope="session")
def make_encoder(tmp_path_factory):
    """Write a random BERT with two layers of 16 units, and a vocabulary of pieces, into a folder."""
    import json

    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    def make(seed=0, layers=2):
        folder = tmp_path_factory.mktemp("encoder")
        letters = "abcdefghijklmnopqrstuvwxyz0123456789"
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *PIECES.split(), *letters, *(f"##{letter}" for letter in letters)]
        vocabulary = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizerFast"}))
        sizes = {"hidden_size": 16, "num_hidden_layers": layers, "num_attention_heads": 2, "intermediate_size": 32}
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **sizes)
            BertModel(config, add_pooling_layer=False).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_encoder(make_encoder):
    """The folder of a tiny encoder; not to be changed."""
    return make_encoder()
