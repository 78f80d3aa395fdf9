"""What every scorer is and has."""

from pathlib import Path

import numpy as np
import pytest

from taxocaps.config import fingerprint
from taxocaps.errors import ConfigError
from taxocaps.progress import silent
from taxocaps.results import FitReport
from taxocaps.scorers.base import SCORERS, Examples, FitContext, ModelConfig, Scorer, make_scorer, out_of_fold
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
    assert sections("sgm") == sections("lstm") - {"loss", "walks", "label_vectors", "prior"}
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
    "prior": ("kind", "none"),
    "encoder": ("window", 99),
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
    (kind, section)
    for kind in KINDS
    for section in kind.model_fields
    if section not in ("scorer", "folds", "validation")
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


def test_the_number_of_folds_is_checked(keywords, toys):
    assert ModelConfig(scorer="x").folds == 0
    for folds in (-1, 21):
        with pytest.raises(ConfigError, match=rf"^folds must be from 0 to 20; got {folds}$"):
            LinearModelConfig(folds=folds)
    scorer = keywords(keywords.Config(folds=5), toys.classes)
    assert [scorer.folds_for(documents) for documents in (3, 5, 100)] == [3, 5, 5]
    assert keywords(keywords.Config(), toys.classes).folds_for(100) == 0


def test_examples_and_others_together(keywords, toys, encode):
    scorer = keywords(keywords.Config(), toys.classes)
    examples = Examples(encode(scorer, toys.texts), toys.labels)
    parts = examples.select(np.array([7, 2])), Examples(encode(scorer, toys.texts[5:7]), toys.labels[5:7])
    both = parts[0].with_others(parts[1])
    assert len(both) == 4
    assert both.labels.toarray().tolist() == toys.labels.toarray()[[7, 2, 5, 6]].tolist()
    found = [words for tokens in both.documents.token_chunks() for words in tokens.documents()]
    assert found == [toys.texts[index].split() for index in (7, 2, 5, 6)]


def test_parts_of_the_work_have_folders_and_names_of_their_own(tmp_path):
    reports = []
    context = FitContext(tmp_path, resume=True, threads=3, progress=lambda *report: reports.append(report))
    part = context.called("fold 1").within("members", "SVM")
    assert part.folder == tmp_path / "members" / "SVM"
    assert part.folder.is_dir()
    assert (part.resume, part.threads) == (True, 3)
    part.called("trees").progress("training", 1, 2, "so far")
    context.progress("training", 3)
    assert reports == [("fold 1: trees: training", 1, 2, "so far"), ("training", 3)]
    assert context.within().folder == tmp_path


def test_an_array_is_computed_once_for_resumed_runs(tmp_path):
    computed = []

    def compute(value):
        (tmp_path / "checkpoint").mkdir(exist_ok=True)
        (tmp_path / "checkpoint" / "weights").write_text("many", encoding="utf-8")
        (tmp_path / "log.txt").write_text("long", encoding="utf-8")
        computed.append(value)
        return np.array([[value]], np.float32)

    first, resumed = FitContext(tmp_path), FitContext(tmp_path, resume=True)
    assert not resumed.has("scores")
    assert first.kept("scores", lambda: compute(0.25)).tolist() == [[0.25]]
    assert [path.name for path in tmp_path.iterdir()] == ["scores.npy"]  # what computing left behind is gone
    assert resumed.has("scores")
    assert not first.has("scores")
    assert resumed.kept("scores", lambda: compute(0.5)).tolist() == [[0.25]]
    assert computed == [0.25]
    assert first.kept("scores", lambda: compute(0.75)).tolist() == [[0.75]]
    assert resumed.kept("scores", lambda: compute(0.5)).tolist() == [[0.75]]


def test_an_array_that_could_not_be_computed_is_not_kept(tmp_path):
    def fail():
        raise ValueError("no memory")

    with pytest.raises(ValueError, match="no memory"):
        FitContext(tmp_path).kept("scores", fail)
    assert not FitContext(tmp_path, resume=True).has("scores")


@pytest.fixture
def by_heart(keywords, monkeypatch):
    """The class of a scorer that gives a label to the documents it has learned from; all that were made are noted."""

    class ByHeart(keywords):
        def fit(self, training, validation, context):
            self.made.append(self)
            self.known, self.folder = self.texts(training.documents), context.folder
            context.progress("learning", 1)
            return FitReport(epochs=len(training))

        def texts(self, documents):
            return {" ".join(words) for tokens in documents.token_chunks() for words in tokens.documents()}

        def scores(self, documents):
            lists = [" ".join(words) for tokens in documents.token_chunks() for words in tokens.documents()]
            known = np.array([text in self.known for text in lists], np.float32)
            share = np.full(len(lists), len(self.known) / 100)
            return np.stack([known, share, *[known] * (len(self.classes) - 2)], axis=1).astype(np.float32)

    ByHeart.made = []
    monkeypatch.setitem(SCORERS._loaded, "keywords", ByHeart)
    return ByHeart


FOLDS = np.array([0, 1, 2, 0, 1, 2, 0, 0, 0, 0, 1, 1])


def test_out_of_fold_scores_are_by_scorers_that_have_not_seen_the_documents(by_heart, toys, encode, tmp_path):
    scorer, reports = by_heart(by_heart.Config(), toys.classes, 7), []
    scorer.start = by_heart(by_heart.Config(), toys.classes)
    examples = Examples(encode(scorer, toys.texts), toys.labels)
    context = FitContext(tmp_path, progress=lambda *report: reports.append(report[0]))
    scores = out_of_fold(scorer, examples, FOLDS, context)
    assert (scores.dtype, scores.shape) == (np.float32, (12, 10))
    assert not scores[:, 0].any()
    # In the order of the documents: each has the score of the scorer that learned from the others.
    assert scores[:, 1] == pytest.approx(np.array([6, 8, 10])[FOLDS] / 100)
    assert len(by_heart.made) == 3
    assert scorer not in by_heart.made
    assert {(one.seed, one.start, one.encoder) for one in by_heart.made} == {(7, scorer.start, scorer.encoder)}
    assert reports == [f"fold {number} of 3: learning" for number in (1, 2, 3)]
    assert len({one.folder for one in by_heart.made}) == 3


def test_a_scorer_is_fitted_on_all_documents_in_the_end(by_heart, toys, encode, tmp_path):
    scorer = by_heart(by_heart.Config(), toys.classes)
    examples = Examples(encode(scorer, toys.texts), toys.labels)
    found = scorer.cross_fit(examples, FOLDS, FitContext(tmp_path))
    assert found.report.epochs == 12
    assert by_heart.made[-1] is scorer
    assert scorer.scores(examples.documents)[:, 0].all()
    assert not found.scores[:, 0].any()
    assert scorer.folder not in {one.folder for one in by_heart.made[:-1]}


def test_a_resumed_run_repeats_no_finished_fold(by_heart, toys, encode, tmp_path):
    scorer = by_heart(by_heart.Config(), toys.classes)
    examples = Examples(encode(scorer, toys.texts), toys.labels)
    before = out_of_fold(scorer, examples, FOLDS, FitContext(tmp_path))
    (tmp_path / "fold-1" / "scores.npy").unlink()
    by_heart.made.clear()
    assert np.array_equal(out_of_fold(scorer, examples, FOLDS, FitContext(tmp_path, resume=True)), before)
    assert [len(one.known) for one in by_heart.made] == [8]
    out_of_fold(scorer, examples, FOLDS, FitContext(tmp_path))
    assert len(by_heart.made) == 4  # from the start, as nothing was said of resuming
