"""Pre-trained encoders: the vectors they give to words, how they are kept, tuned, refused."""

import functools
import io
import itertools
import json
import shutil
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModel

from taxocaps.catalogue.presets import encoding_config, model_config
from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.encoding.pieces import EncoderConfig
from taxocaps.encoding.store import open_store
from taxocaps.encoding.store_writer import write_store
from taxocaps.errors import ConfigError, MissingExtraError, StoreError
from taxocaps.explanations.explain import explain_document
from taxocaps.nn.contextual import PieceReader, Special, window_starts
from taxocaps.scorers import pretrained
from taxocaps.scorers.base import Examples, FitContext
from taxocaps.scorers.network import NetworkScorer, _slots
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.scorers.pretrained import ContextualEncoder, load_reader
from taxocaps.text.pipeline import TextConfig
from taxocaps.training.config import TrainingConfig
from taxocaps.training.module import TrainingModule

TEXTS = [
    "The company sold bonds. Bonds of the Company's bank!",
    "Players",
    "",
    "The goal of the club, and 3 players' songs. " * 12,
]
kinds = pytest.mark.parametrize("kind", ["words-matrix", "xml-cnn"])
weights = pytest.mark.parametrize("weights", ["frozen", "tuned"])


@pytest.fixture
def contextual(tiny_encoder):
    """Encode texts with the tiny encoder."""

    def encoder(folder=tiny_encoder, name="contextual", **options):
        return DocumentEncoder(TextConfig(), {name: EncoderConfig(folder=str(folder), **options)})

    return encoder


def encode(encoder, texts=TEXTS):
    return encoder.encode([Document(text) for text in texts])


def words_of(encoded, index):
    """The contextual vectors of a document by word."""
    words, vectors = encoded.encodings["contextual"].arrays(np.array([index]))
    return {encoded.tokens.words[id - 2]: vectors[0, slot] for slot, id in enumerate(words[0]) if id}


def test_a_word_has_the_mean_of_its_pieces_wherever_it_stands(contextual, tiny_encoder):
    found = words_of(encode(contextual()), 0)
    # The raw tokens of the text with the words that are kept of them, one piece after the other.
    tokens = {0: ("The", ""), 1: ("company", "company"), 2: ("sold", "sell"), 3: ("bonds", "bond"), 4: (".", "")}
    tokens |= {5: ("Bonds", "bond"), 6: ("of", ""), 7: ("the", ""), 8: ("Company's", "company"), 9: ("bank", "bank")}
    tokens |= {10: ("!", "")}
    tokenizer = Tokenizer.from_file(str(tiny_encoder / "tokenizer.json"))
    pieces = [
        (id, word) for token, word in tokens.values() for id in tokenizer.encode(token, add_special_tokens=False).ids
    ]
    model = AutoModel.from_pretrained(tiny_encoder, add_pooling_layer=False).eval()
    with torch.inference_mode():
        hidden = model(torch.tensor([[2, *(id for id, _ in pieces), 3]])).last_hidden_state[0, 1:-1].numpy()
    assert set(found) == {"company", "sell", "bond", "bank"}
    for word, vector in found.items():
        own = [hidden[index] for index, (_, owner) in enumerate(pieces) if owner == word]
        assert len(own) > {"bank": 0}.get(word, 1)
        assert np.allclose(vector, np.mean(own, axis=0), atol=2e-3)


def test_windows_overlap_by_a_quarter_and_cover_all():
    assert window_starts(0, 8) == window_starts(8, 8) == [0]
    assert window_starts(9, 8) == [0, 1]
    assert window_starts(21, 8) == [0, 6, 12, 13]
    for length in range(1, 60):
        starts = window_starts(length, 8)
        assert all(0 <= later - earlier <= 6 for earlier, later in itertools.pairwise(starts))
        assert starts[-1] + 8 >= length


class Echo(torch.nn.Module):
    """Says of each piece where in its window it stands and which piece it is."""

    def forward(self, input_ids, attention_mask):
        places = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        ends = attention_mask.sum(dim=1, keepdim=True).expand_as(input_ids)
        found = type("Output", (), {})()
        found.last_hidden_state = torch.stack([places, input_ids, ends], dim=-1).float()
        return found


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 20, 41])
def test_a_piece_is_read_where_it_is_most_central(length):
    special = Special((90,), (91, 92), 0, 11)
    pieces = torch.full((2, 41), -1, dtype=torch.int32)
    pieces[0, :length], pieces[1] = torch.arange(100, 100 + length), torch.arange(200, 241)
    for row, size in ((0, length), (1, 41)):
        found = PieceReader(Echo(), special)(pieces)[row]
        assert not found[size:].any()
        for place in range(size):
            starts = [start for start in window_starts(size, 8) if start <= place < start + 8]
            best = min(starts, key=lambda start: abs(place - (start + 3.5)))
            assert found[place].tolist() == [place - best + 1, pieces[row, place], min(8, size) + 3]


def test_half_a_surrogate_pair_is_read_as_an_unknown_character(contextual):
    (_, vectors), (_, sound) = (
        encode(contextual(), [text]).encodings["contextual"].arrays(np.array([0]))
        for text in ("The bank.\ud800 Then players.", "The bank.? Then players.")
    )
    assert vectors.shape == sound.shape
    assert np.isfinite(vectors).all()


def test_long_documents_are_read_in_windows(contextual):
    short, long = (words_of(encode(contextual(window=window)), 3) for window in (16, 64))
    assert short.keys() == long.keys() == {"goal", "club", "3", "player", "song"}
    assert not np.allclose(short["goal"], long["goal"], atol=1e-2)
    assert set(words_of(encode(contextual(length=3)), 3)) == {"goal"}
    assert set(words_of(encode(contextual(window=1_000)), 3)) == set(long)  # the encoder has 64 positions


def test_batches_do_not_change_vectors(contextual):
    together, encoder = encode(contextual()), contextual()
    for index, text in enumerate(TEXTS):
        alone = words_of(encode(encoder, [text]), 0)
        found = words_of(together, index)
        assert alone.keys() == found.keys()
        assert all(np.allclose(alone[word], found[word], atol=2e-3) for word in alone)


@pytest.mark.parametrize("tokenizer", ["plain", "none", "words"])
def test_every_tokenizer_has_words_in_context(tiny_encoder, tokenizer):
    sections = {"contextual": EncoderConfig(folder=str(tiny_encoder))}
    encoder = DocumentEncoder(TextConfig(tokenizer=tokenizer), sections)
    encoded = encoder.encode([Document(TEXTS[0]), Document(tokens=("Ready", "the", "words"))])
    assert encoded.tokens.document(1) == ["Ready", "the", "words"]
    for index in range(2):
        assert set(words_of(encoded, index)) == set(encoded.tokens.document(index))
    assert encoded.tokens.document(0) == DocumentEncoder(TextConfig(tokenizer=tokenizer), {}).encode(
        [Document(TEXTS[0])]
    ).tokens.document(0)


def test_words_find_their_slots():
    words = np.array([[[5, 9], [0, 1]], [[7, 5], [5, 0]]])
    known = np.array([[9, 4, 9, 1], [5, 0, 0, 0]])
    slots, of = _slots(words, known)
    assert slots.tolist() == [[[0, 2], [0, 0]], [[0, 1], [1, 0]]]
    assert of.tolist() == [[2, 1, 2, 0], [1, 0, 0, 0]]


def test_a_store_keeps_vectors_and_an_interrupted_one_reads_them_again(contextual, tmp_path, monkeypatch):
    encoder, told = contextual(), []
    documents = [Document(text) for text in TEXTS]
    folder, cache = tmp_path / "store", tmp_path / "cache"
    folder.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("taxocaps.encoding.store_writer._StoreWriter.manifest", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_store(documents, encoder, folder, cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr(ContextualEncoder, "_read", lambda *_: pytest.fail("read again"))
        write_store(documents, encoder, folder, cache=cache, tell=told.append)
    assert not (cache / "contextual").exists()
    assert "tokens of 4 documents: about 1 seconds of one core, 4 MB of memory and at most 1 MB on disk" in told[0]
    stored = open_store(folder, contextual())
    in_memory = encode(contextual())
    for index in range(4):
        one, other = words_of(stored, index), words_of(in_memory, index)
        assert one.keys() == other.keys()
        assert all(np.allclose(one[word], other[word], atol=2e-3) for word in one)
    with pytest.raises(StoreError, match="a store keeps only words"):
        write_store(open_store(folder), contextual(window=32), tmp_path, cache=cache)
    with pytest.raises(StoreError, match=r"was encoded with encoder\.window=256, but the model has 32"):
        open_store(folder, contextual(window=32))


def test_another_encoder_does_not_take_its_store(contextual, make_encoder, tiny_encoder, tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    write_store([Document(TEXTS[0])], contextual(), folder, cache=tmp_path / "cache")
    with pytest.raises(StoreError, match=r"was encoded with encoder\.folder="):
        open_store(folder, contextual(make_encoder(seed=1)))
    shutil.copytree(tiny_encoder, tmp_path / "copy")
    assert len(open_store(folder, contextual(tmp_path / "copy"))) == 1


@pytest.fixture(scope="session")
def fit_with(fit, tiny_encoder):
    """Fit a tiny network with the tiny encoder."""

    def fit_it(kind, weights, *layers, **context):
        options = {"folder": str(tiny_encoder), "weights": weights, "learning_rate": 1e-2}
        return fit({"network": {"kind": kind}, "encoder": options, "training": {"epochs": 1}}, *layers, **context)

    return fit_it


@pytest.fixture(scope="session")
def fitted_with(fit_with):
    """The same, each network once for all tests."""
    return functools.cache(fit_with)


@kinds
@weights
def test_a_model_carries_its_encoder(fitted_with, encode, toys, tmp_path, kind, weights, tiny_encoder):
    model = fitted_with(kind, weights)
    scores = model.scorer.scores(encode(model.scorer, [*toys.texts, "", "words nobody knows"]))
    assert scores.shape == (14, 10)
    assert not scores[12].any()
    save_model(model, tmp_path)
    assert str(tiny_encoder) not in (tmp_path / "config.yaml").read_text()
    assert (tmp_path / "encoder" / "model.safetensors").exists() == (weights == "frozen")
    moved = tmp_path.parent / f"{tmp_path.name}-moved"
    shutil.move(tmp_path, moved)
    loaded = load_model(moved)
    assert np.array_equal(loaded.scorer.scores(encode(loaded.scorer, [*toys.texts, "", "words nobody knows"])), scores)
    again = tmp_path.parent / f"{tmp_path.name}-again"
    again.mkdir()
    save_model(loaded, again)
    assert (again / "config.yaml").read_text() == (moved / "config.yaml").read_text()


def test_a_model_carries_its_encoder_and_its_linear_prior(fit_with, encode, toys, tmp_path):
    model = fit_with("words-matrix", "frozen", {"prior": {"kind": "linear"}})
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    scores = (one.scorer.scores(encode(one.scorer, toys.texts)) for one in (model, loaded))
    assert np.array_equal(*scores)


def test_words_that_the_vocabulary_does_not_know_differ_by_their_context(fitted_with, encode):
    for kind in ("words-matrix", "xml-cnn"):
        scorer = fitted_with(kind, "frozen").scorer
        one, other = scorer.scores(encode(scorer, ["zyx zyx wvu", "cba fed cba"]))
        assert not np.allclose(one, other, atol=1e-6)


@kinds
def test_the_same_seed_gives_the_same_weights(fit_with, fitted_with, kind):
    one, other = (fit(kind, "tuned").scorer.network.state_dict() for fit in (fit_with, fitted_with))
    assert all(torch.equal(weights, other[name]) for name, weights in one.items())


def test_tuning_moves_all_layers_and_freezing_none(fitted_with, tiny_encoder):
    first = load_file(tiny_encoder / "model.safetensors")
    network = fitted_with("xml-cnn", "tuned").scorer.network
    tuned = {name: value for name, value in network.context.reader.transformer.state_dict().items() if name in first}
    assert tuned.keys() == first.keys()
    moved = [name for name, value in tuned.items() if not torch.equal(value, first[name])]
    # A bias of keys changes no attention, and only one type of text occurs.
    assert {name for name in first if name not in moved} <= {name for name in first if "key.bias" in name}
    frozen = fitted_with("xml-cnn", "frozen").scorer.network
    assert not any("reader" in name for name in frozen.state_dict())


def test_lower_layers_have_lower_learning_rates(small_config, toys, tiny_encoder):
    options = {"folder": str(tiny_encoder), "weights": "tuned", "learning_rate": 0.01, "decay": 0.5}
    scorer = NetworkScorer(small_config({"network": {"kind": "xml-cnn"}, "encoder": options}), toys.classes)
    scorer.vocabulary = type("Two", (), {"__len__": lambda self: 4})()
    scorer.objective = scorer._make_objective(8)
    module = TrainingModule(scorer.objective, TrainingConfig(warmup=0, schedule="constant"), 10, 0)
    groups = module.configure_optimizers()["optimizer"].param_groups
    rates = {id(one): group["lr"] for group in groups for one in group["params"]}
    named = dict(scorer.network.context.reader.transformer.named_parameters())
    assert len(rates) == len(list(scorer.network.parameters()))
    wanted = {"embeddings": 0.0025, "encoder.layer.0": 0.005, "encoder.layer.1": 0.01}
    for name, parameter in named.items():
        assert rates[id(parameter)] == pytest.approx(next(rate for key, rate in wanted.items() if name.startswith(key)))
    assert rates[id(scorer.network.output.weight)] == TrainingConfig().learning_rate


@pytest.mark.slow
def test_a_run_with_a_tuned_encoder_can_be_resumed_and_continued(fit_scorer_to, toys):
    whole, _ = fit_scorer_to(epochs=2)
    fit_scorer_to(epochs=2, folder="cut", stop_after=1)
    resumed, _ = fit_scorer_to(epochs=2, folder="cut", resume=True)
    assert all(torch.equal(one, resumed.network.state_dict()[name]) for name, one in whole.network.state_dict().items())
    still, _ = fit_scorer_to(epochs=1, start=whole, training={"learning_rate": 1e-9}, rate=1e-9)
    state = still.network.state_dict()
    assert all(torch.allclose(one, state[name], atol=1e-6) for name, one in whole.network.state_dict().items())


@pytest.fixture
def fit_scorer_to(small_config, toys, encode, tiny_encoder, tmp_path):
    """Fit a network with a tuned encoder, perhaps interrupted after some epochs."""

    def fit_it(epochs, folder=None, stop_after=None, start=None, training=None, rate=1e-3, **context):
        options = {"folder": str(tiny_encoder), "weights": "tuned", "learning_rate": rate}
        layers = {
            "network": {"kind": "xml-cnn"},
            "encoder": options,
            "training": {"epochs": epochs, **(training or {})},
        }
        scorer = NetworkScorer(small_config(layers), toys.classes)
        scorer.start = start
        examples = Examples(encode(scorer, toys.texts), toys.labels)

        def progress(stage, done, total=None, note=""):
            if stop_after and f"epoch {stop_after + 1} of" in note:
                raise KeyboardInterrupt

        where = FitContext(tmp_path / (folder or f"whole-{epochs}-{start is None}"), progress=progress, **context)
        if not stop_after:
            return scorer, scorer.fit(examples, examples, where)
        with pytest.raises(KeyboardInterrupt):
            scorer.fit(examples, examples, where)
        return None

    return fit_it


@kinds
@weights
def test_words_are_explained(fitted_with, kind, weights):
    model = fitted_with(kind, weights)
    found = explain_document(model, Document("The club sold players to the bank, said the coach."))
    assert {one.word for one in found.reasons[0].words} <= {"club", "sell", "player", "bank", "say", "coach"}
    assert found.reasons[0].words


@pytest.mark.slow
def test_members_of_a_joined_model_read_in_context(toys, tiny_encoder, small_options, tmp_path):
    from taxocaps.classifier import TaxoCapsClassifier

    small = {f"members__XML-CNN__{key}": value for key, value in small_options("XML-CNN").items()}
    labels = [document.labels for document in toys.documents]
    model = TaxoCapsClassifier(
        "SVM+XML-CNN", toys.classes.taxonomy, **small, **{"members__XML-CNN__encoder__folder": str(tiny_encoder)}
    ).fit(toys.texts, labels)
    scores = model.predict_proba(toys.texts)
    save_model(model.model_, tmp_path)
    assert (tmp_path / "members" / "XML-CNN" / "encoder" / "model.safetensors").exists()
    assert str(tiny_encoder) not in (tmp_path / "config.yaml").read_text()
    loaded = load_model(tmp_path)
    encoded = loaded.scorer.encoder.encode([Document(text) for text in toys.texts])
    assert np.allclose(loaded.consistent(loaded.own_scores(encoded)), scores, atol=1e-6)


def test_what_tuning_takes_is_told_before_it_begins(fit_with):
    told = []
    fit_with("xml-cnn", "tuned", tell=told.append)
    assert any("tuning the encoder takes about" in line and "of one core" in line for line in told)


def refusal(encoder, error=ConfigError, **options):
    with pytest.raises(error) as found:
        encoder(**options).encode([Document("The company")])
    assert "\n" not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("name", ["contextual", "pieces"])
def test_what_is_no_encoder_is_refused_in_one_line(contextual, tiny_encoder, tmp_path, name):
    missing = refusal(contextual, folder="bert-base-uncased", name=name)
    assert "there is no folder 'bert-base-uncased', and names of models are not downloaded" in missing
    folder = tmp_path / "encoder"
    shutil.copytree(tiny_encoder, folder)
    (folder / "tokenizer.json").write_text("{}")
    assert "not a tokenizer, or damaged" in refusal(contextual, folder=folder, name=name)
    (folder / "tokenizer.json").unlink()
    assert "has no tokenizer.json; load it" in refusal(contextual, folder=folder, name=name)
    shutil.copyfile(tiny_encoder / "tokenizer.json", folder / "tokenizer.json")
    (folder / "config.json").write_text("{broken")
    assert "config.json: not JSON, or damaged" in refusal(contextual, folder=folder, name=name)
    (folder / "config.json").write_text('{"model_type": "bart", "d_model": 8, "is_encoder_decoder": true}')
    assert "holds bart; give an encoder such as BERT" in refusal(contextual, folder=folder, name=name)
    (folder / "config.json").write_text('{"model_type": "new"}')
    assert "holds new; give an encoder such as BERT" in refusal(contextual, folder=folder, name=name)
    (folder / "config.json").unlink()
    assert "has no config.json" in refusal(contextual, folder=folder, name=name)


def test_code_in_the_folder_of_an_encoder_never_runs(contextual, tiny_encoder, tmp_path, monkeypatch):
    folder = tmp_path / "encoder"
    shutil.copytree(tiny_encoder, folder)
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 9))  # whoever asks is told yes
    assert "holds no encoder that can be used" in refusal(contextual, folder=folder, name="contextual")
    assert not (tmp_path / "ran").exists()


def test_weights_must_be_there_whole_and_no_pickle(tiny_encoder, tmp_path):
    def message(folder):
        with pytest.raises(ConfigError) as found:
            load_reader(EncoderConfig(folder=str(folder)))
        assert "\n" not in str(found.value)
        return str(found.value)

    folder = tmp_path / "encoder"
    shutil.copytree(tiny_encoder, folder)
    (folder / "model.safetensors").write_bytes(b"damaged")
    assert "holds no encoder that can be used" in message(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    shutil.copy(tiny_encoder / "model.safetensors", folder)
    assert "has no weights for encoder.layer.2" in message(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "weights as pickle only (.bin), which may run code; load it" in message(folder)
    (folder / "pytorch_model.bin").unlink()
    assert "has no model.safetensors" in message(folder)


def test_without_the_extra_the_command_to_type_is_told(contextual, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert "pip install 'taxocaps[encoders]'" in refusal(contextual, MissingExtraError)


def test_other_models_have_no_encoder(tiny_encoder):
    given = {"encoder": {"folder": str(tiny_encoder)}}
    for make in (model_config, encoding_config):
        with pytest.raises(ConfigError, match="LSTM has no option encoder"):
            make("LSTM", "default", given)
    assert list(encoding_config("XML-CNN", "default", given)[1]) == ["tokens", "contextual"]
    assert model_config("XML-CNN", "default").encoder.encoding is None


def test_time_is_estimated_by_size(tiny_encoder):
    assert pretrained._duration(3 * 3600) == "3 hours"
    assert pretrained._duration(400) == "7 minutes"
    assert [pretrained._size(count) for count in (1_000, 25e6, 2.54e9)] == ["1 MB", "25 MB", "2.5 GB"]
    one, other = (
        pretrained.seconds_to_read(EncoderConfig(folder=str(tiny_encoder), weights=kind), 1_000, 5)
        for kind in ("frozen", "tuned")
    )
    assert other == pytest.approx(15 * one)
