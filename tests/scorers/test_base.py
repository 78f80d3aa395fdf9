"""What every scorer is and has."""

from pathlib import Path

import numpy as np
import pytest

from taxocaps.config import fingerprint
from taxocaps.errors import ConfigError
from taxocaps.progress import silent
from taxocaps.results import FitReport
from taxocaps.scorers.base import SCORERS, Examples, FitContext, ModelConfig, Scorer, make_scorer
from taxocaps.scorers.linear import LinearModelConfig, LinearScorer
from taxocaps.scorers.network import NetworkScorer


def test_a_scorer_must_say_how_it_learns_scores_and_is_kept(toys):
    with pytest.raises(TypeError, match="abstract") as caught:
        Scorer(ModelConfig(scorer="x"), toys.classes)
    for name in ("fit", "scores", "_save", "_load", "parameters", "explainer"):
        assert name in str(caught.value)


def test_a_scorer_knows_its_options_labels_and_seed(keywords, toys, encode):
    config = keywords.Config()
    scorer = keywords(config, toys.classes, 7)
    assert (scorer.config, scorer.classes, scorer.seed) == (config, toys.classes, 7)
    assert scorer.start is None
    assert scorer.members == {}
    assert keywords(config, toys.classes).seed == 0
    assert scorer.scores(encode(scorer, ["sport", ""])).sum(axis=1).tolist() == [1, 0]


def test_documents_are_encoded_as_the_options_say(small_config, toys):
    config = small_config({"network": {"kind": "hierarchical"}, "text": {"lemmas": "none"}, "sentences": {"count": 7}})
    scorer = make_scorer(config, toys.classes, 0, threads=3)
    assert scorer.encoder.pipeline.config == config.text
    assert set(scorer.encoder.encoders) == {"sentences"} == set(config.encodings)
    assert scorer.encoder.encoders["sentences"].config.count == 7
    assert scorer.encoder.encoders["sentences"].threads == 3
    assert scorer.encoder is scorer.encoder  # dictionaries are loaded once


@pytest.mark.parametrize(("name", "kind"), [("network", NetworkScorer), ("linear", LinearScorer)])
def test_a_new_scorer_has_what_it_was_made_with_and_is_not_fitted(toys, small_config, name, kind):
    config = small_config({"scorer": name})
    scorer = make_scorer(config, toys.classes, 5)
    assert type(scorer) is kind is SCORERS[name]
    assert (scorer.config, scorer.classes, scorer.seed) == (config, toys.classes, 5)
    assert not hasattr(scorer, "vocabulary")


def test_a_linear_scorer_reads_the_tokens_themselves():
    assert LinearModelConfig().encodings == {}


def test_a_network_scorer_has_the_sections_of_its_kind_of_network():
    def sections(kind):
        return set(NetworkScorer.config_type({"network": {"kind": kind}}).model_fields)

    assert "graph" in sections("words-matrix")
    assert "tokens" not in sections("words-matrix")
    assert {"tokens", "loss"} < sections("lstm")
    assert sections("sgm") == sections("lstm") - {"loss", "walks", "label_vectors"}
    assert "sentences" in sections("hierarchical")


@pytest.mark.parametrize("options", [{}, {"network": {"units": 3}}, {"network": "lstm"}])
def test_a_network_needs_a_kind(options):
    with pytest.raises(ConfigError, match=r"network.kind is missing; there are words-matrix, dgcnn"):
        NetworkScorer.config_type(options)


def test_unknown_kinds_give_the_nearest():
    with pytest.raises(ConfigError, match="no network is called 'lstn'; did you mean lstm"):
        NetworkScorer.config_type({"network": {"kind": "lstn"}})
    with pytest.raises(ConfigError, match="no scorer is called 'linaer'; did you mean linear"):
        make_scorer(ModelConfig(scorer="linaer"), None, 0)


CHANGES = {
    "labels": ("ancestors", "add"),
    "text": ("language", "de"),
    "decision": ("at_least", 1),
    "bag": ("min_documents", 3),
    "linear": ("C", 2.5),
    "tokens": ("length", 7),
    "sentences": ("count", 7),
    "vocabulary": ("min_count", 3),
    "graph": ("window", 4),
    "vectors": ("dimension", 7),
    "network": ("dropout", 0.25),
    "loss": ("p", 0.25),
    "walks": ("length", 11),
    "label_vectors": ("window", 2),
    "training": ("epochs", 1),
}
KINDS = [
    LinearScorer.Config,
    *(
        NetworkScorer.config_type({"network": {"kind": kind}})
        for kind in ("words-matrix", "lstm", "hierarchical", "sgm")
    ),
]
SECTIONS = [
    (kind, section) for kind in KINDS for section in kind.model_fields if section not in ("scorer", "validation")
]


@pytest.mark.parametrize(("kind", "section"), SECTIONS)
def test_a_section_is_called_what_its_messages_call_it(kind, section):
    key, _ = CHANGES[section]
    assert type(getattr(kind(), section)).section == section
    with pytest.raises(ConfigError, match=rf"unknown configuration key {section}\.zzz"):
        kind.model_validate({section: {"zzz": 1}})
    with pytest.raises(ConfigError, match=rf"{section}\.{key} must be"):
        kind.model_validate({section: {key: [[]]}})


@pytest.mark.parametrize(("kind", "section"), SECTIONS)
def test_one_change_changes_one_value(kind, section):
    key, value = CHANGES[section]
    changed, usual = kind.model_validate({section: {key: value}}), kind()
    assert getattr(getattr(changed, section), key) == value != getattr(getattr(usual, section), key)
    back = getattr(changed, section).replace(**{key: getattr(getattr(usual, section), key)})
    assert changed.replace(**{section: back}) == usual
    assert fingerprint(changed) != fingerprint(usual)
    assert kind.model_validate(changed.as_mapping()) == changed


def test_some_of_the_examples(keywords, toys, encode):
    scorer = keywords(keywords.Config(), toys.classes)
    examples = Examples(encode(scorer, toys.texts), toys.labels)
    assert len(examples) == 12
    some = examples.select(np.array([7, 2]))
    assert len(some) == len(some.documents) == 2
    assert some.labels.toarray().tolist() == toys.labels.toarray()[[7, 2]].tolist()
    both = [words for tokens in some.documents.token_chunks() for words in tokens.documents()]
    assert both == [toys.texts[7].split(), toys.texts[2].split()]


def test_fitting_is_silent_on_one_thread_by_default():
    context = FitContext(Path("somewhere"))
    assert (context.resume, context.threads, context.progress) == (False, 1, silent)


def test_a_report_of_a_model_without_epochs():
    assert FitReport() == FitReport(0, 0, ())


def test_the_share_of_validation_documents_is_checked():
    with pytest.raises(ConfigError, match=r"^validation must be from 0.001 to 0.9; got 1$"):
        LinearModelConfig(validation=1)
