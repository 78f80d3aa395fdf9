"""The joined scorer: trees turn the scores of its members, label names, frequency and taxonomy into probabilities."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import SerializeAsAny, field_validator, model_validator
from scipy.sparse import csr_array

from taxocaps.arrays import ModelArrays, reading_arrays, write_arrays
from taxocaps.config import Between, Duration
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.joining.evidence import KINDS, RESERVED, EvidenceMaker, Pairs
from taxocaps.joining.names import LabelNames, label_terms
from taxocaps.joining.trees import Trees, TreesConfig, fit_trees
from taxocaps.metrics.calibration import logistic
from taxocaps.metrics.classification import flat_metrics
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.results import FitReport, Standing
from taxocaps.scorers.base import SCORERS, CrossFit, Examples, FitContext, ModelConfig, Scorer, make_scorer
from taxocaps.scorers.decision import count_labels
from taxocaps.scorers.plan import folds_of, plan_members
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.tokens import Tokens

__all__ = ["JoinedModelConfig", "JoinedScorer"]

_WEIGHTS = "join.safetensors"
_CELLS = 2_000_000
"""Pairs of a document and any label that are computed together; bounds the memory."""
_MOST_PAIRS = 600_000
"""Trees are fitted to a sample of documents with about this many pairs; more teach them nothing new."""
_PARTS = 3
"""Parts for cross-validation, which decides on the number of trees."""
_COUNTS = (25, 50, 75, 100, 150, 200, 300)
"""The numbers of trees to choose from."""
_MOST_COMPARED, _COMPARED_TREES = 50_000, 50
"""The numbers of pairs and of trees by which members are compared."""
_COST_OF_MISSING = float(-np.log(1e-3))
"""The log loss of a true label that is no candidate: as if it had a probability of one in a thousand."""

Dense = NDArray[np.float32]


class JoinedModelConfig(ModelConfig):
    """The options of a joined model.

    Attributes:
        scorer: The kind of scorer.
        text: How texts become words; with the tokenizer `raw` each member has a tokenizer of its own.
        folds: Number of folds for the scores of members; 0 takes 10 for up to 2,000 documents, 5 up to 20,000, then 3.
        members: The options of each member, by name; the first one always takes part.
        time: How long training may take on two cores, such as `90s`, `10m` or `2h`: further members take part in their
            order, as far as the time suffices. Null takes all of them.
        choose: Whether a member is left out if the others do better without it, out of fold.
        without: Members and kinds of evidence that are left out: `name`, `frequency`, `rank`, `taxonomy` or `length`.
        join: How evidence becomes a probability.
    """

    scorer: Literal["joined"] = "joined"
    text: TextConfig = TextConfig(tokenizer="raw")
    folds: Annotated[int, Between(0, 20)] = 0
    members: dict[str, SerializeAsAny[ModelConfig]]
    time: Duration | None = None
    choose: bool = False
    without: tuple[str, ...] = ()
    join: TreesConfig = TreesConfig()

    @property
    def learns_validation(self) -> bool:
        """There are always folds."""
        return True

    @property
    def gives_unseen(self) -> bool:
        """By their names, if these are evidence."""
        return "name" not in self.without and self.decision.unseen

    @field_validator("members", mode="before")
    @classmethod
    def _of_their_kinds(cls, given: Any) -> Any:
        """Each member has the configuration of its own kind of scorer."""
        if not isinstance(given, Mapping) or not given:
            raise ConfigError("members is a section with the options of one or several members")
        return {str(name): _member_config(str(name), options) for name, options in given.items()}

    @field_validator("without", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        """One text may name several, such as `name,rank`."""
        return [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else given

    @model_validator(mode="after")
    def _leaves_something(self) -> Self:
        """Only what there is can be left out, and one member stays."""
        for name in self.without:
            if name not in (*self.members, *KINDS):
                raise ConfigError(f"without: there is no {name!r}; there are {', '.join((*self.members, *KINDS))}")
        if not self.used:
            raise ConfigError("without: one member must stay")
        return self

    @model_validator(mode="after")
    def _reads_one_way(self) -> Self:
        """Members share the options of the text but for the tokenizer; their own would be of no effect."""
        for name, member in self.members.items():
            own = member.text.replace(tokenizer=self.text.tokenizer)
            if own not in (TextConfig(tokenizer=self.text.tokenizer), self.text):
                raise ConfigError(
                    f"members.{name}.text: members read texts alike; give the option to all, such as text.stop_words"
                )
        return self

    @property
    def portable(self) -> Self:
        """With members as they lie in their folders."""
        return self.replace(members={name: config.portable for name, config in self.members.items()})

    @property
    def used(self) -> dict[str, ModelConfig]:
        """The members that are not left out."""
        return {name: config for name, config in self.members.items() if name not in self.without}


def _member_config(name: str, options: Any) -> ModelConfig:
    if isinstance(options, ModelConfig):
        return options
    if name in RESERVED or name == "joined" or not re.fullmatch(r"\w[\w+() .-]*", name):
        raise ConfigError(f"members.{name}: a member cannot have this name; choose another one of letters and digits")
    if isinstance(options, Mapping) and options.get("scorer") == "joined":
        raise ConfigError(f"members.{name}: a joined model cannot be a member; name its members instead")
    if not isinstance(options, Mapping) or "scorer" not in options:
        raise ConfigError(f"members.{name} must name its kind of scorer; there are {', '.join(SCORERS)}")
    return SCORERS[str(options["scorer"])].config_type(options).model_validate(options)


class JoinedScorer(Scorer):
    """Several scorers, its members, and trees that turn their scores and other evidence into probabilities."""

    Config = JoinedModelConfig
    is_calibrated = True
    needs_folds = True
    usual_rule = "by-frequency"

    trees: Trees
    counts: NDArray[np.int64]
    """Training documents of each label; [L]."""
    evidence: EvidenceMaker
    """Makes evidence of the scores of members and the names of labels."""
    _names: LabelNames | None

    @cached_property
    def _members(self) -> dict[str, Scorer]:
        return {
            name: make_scorer(config.replace(text=self._text_of(config)), self.classes, self.seed, self.threads)
            for name, config in self.config.used.items()
        }

    @property
    def members(self) -> Mapping[str, Scorer]:
        """The members by name."""
        return self._members

    def _text_of(self, member: ModelConfig) -> TextConfig:
        """The text options of a member: its own for raw tokens, else those of the joined model."""
        text: TextConfig = self.config.text
        return text.replace(tokenizer=member.text.tokenizer) if text.tokenizer == "raw" else text

    def _label_names(self) -> LabelNames | None:
        """Measures how well documents fit the names of labels; None if names are left out."""
        if "name" in self.config.without:
            return None
        taxonomy, names = self.classes.taxonomy, self.classes.names
        language = self.config.text.language
        terms = [label_terms(taxonomy, name, language) for name in names]
        return LabelNames(terms, [taxonomy.title(name, language) for name in names], self.config.text)

    def folds_for(self, documents: int) -> int:
        """More folds for fewer documents: they need them more, and take less time."""
        wanted = self.config.folds or (10 if documents <= 2_000 else 5 if documents <= 20_000 else 3)
        return min(wanted, documents)

    def fit(self, training: Examples, validation: Examples | None, context: FitContext) -> FitReport:
        """Fit in two folds: members score each half of the documents after learning from the other."""
        folds = np.arange(len(training)) % 2 if len(training) > 1 else np.zeros(1, np.int64)
        return self.cross_fit(training, folds, context).report

    def cross_fit(self, training: Examples, folds: NDArray[np.int64], context: FitContext) -> CrossFit:
        """Fit members in folds, trees to their out-of-fold scores, then members to all documents.

        If there is a scorer to start from, its members take part again, each starting from its weights.
        """
        self._learn_labels(training)
        self._take(list(self.members), EvidenceMaker.candidates_for(training.labels))
        if self.start is not None:
            self._start_members()
        else:
            time = math.inf if self.config.time is None else self.config.time
            plan = plan_members(self.config.used, training.workload, int(folds.max()) + 1, time)
            context.tell(str(plan))
            self._keep(plan.kept)
        found = self._score_members(training, folds, context)
        self._keep(list(found))
        if self.config.choose and self.start is None:
            self._leave_out_members(training, folds, found, context)
        used = [found[name] for name in self.members]
        pairs = self._out_of_fold_pairs(training, folds, used, np.arange(len(training)), self.evidence)
        logits = self._fit_join(pairs, _truth(pairs, training.labels), folds, context)
        scores = _filled(pairs, logits, training.labels.shape)
        standings = [self._standing(name, training.labels, one) for name, one in {**found, "joined": scores}.items()]
        return CrossFit(FitReport(standings=tuple(standings)), scores)

    @property
    def keeps_scale(self) -> bool:
        """If the scores of all members do."""
        return all(member.keeps_scale for member in self.members.values())

    def refit(self, training: Examples, folds: NDArray[np.int64], context: FitContext) -> NDArray[np.float32]:
        """Fit the members to all documents; the trees that join them are kept."""
        assert self.start is not None
        self._learn_labels(training)
        self._take(list(self.members), self.start.evidence.candidates)
        self._start_members()
        self.trees = self.start.trees
        used = self._score_members(training, folds, context)
        left_out = np.flatnonzero(folds >= 0)
        if not len(left_out):
            return np.zeros(training.labels.shape, np.float32)
        pairs = self._out_of_fold_pairs(training, folds, list(used.values()), left_out, self.evidence)
        return _filled(pairs, self.trees.logits(pairs.rows), training.labels.shape)

    def _learn_labels(self, training: Examples) -> None:
        """Count the documents of each label, and learn how rare the words of label names are."""
        self.counts = count_labels(training.labels)
        if self.start is not None:
            self.counts = self.with_start_counts(self.counts, self.start.counts)
        self._names = self._label_names()
        if self._names is not None:
            self._names.fit(training.documents)

    def _start_members(self) -> None:
        """Use the members of the scorer to start from, each starting from its weights."""
        assert self.start is not None
        self._keep(list(self.start.members))
        for name, member in self.members.items():
            member.start, member.origins = self.start.members[name], self.origins

    def _score_members(self, training: Examples, folds: NDArray[np.int64], context: FitContext) -> dict[str, Dense]:
        """The out-of-fold scores of each member; one that finds no words in the texts is left out."""
        found = {}
        for name, reading in self._readings(training.documents):
            member, within = self.members[name], context.called(name).within("members", name)
            own_folds = np.where(folds < 0, folds, folds % folds_of(member.config, max(1, int(folds.max()) + 1)))
            try:
                found[name] = member.cross_fit(Examples(reading, training.labels), own_folds, within).scores
            except CorpusError as error:
                context.tell(f"{name} is left out: {error}")
                reason = error
        if not found:
            raise reason
        return found

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """The probability of each label; 0 for labels without any evidence, and for a document without words."""
        scores = np.zeros((len(documents), len(self.classes)), np.float32)
        for chunk in _chunks(len(documents), len(self.classes)):
            part = documents.select(chunk)
            pairs = self.pairs(part, self.member_scores(part))
            scores[chunk] = _filled(pairs, self.trees.logits(pairs.rows), (len(chunk), len(self.classes)))
        return scores

    def pairs(self, documents: EncodedDocuments, scores: Mapping[str, NDArray[np.float32]]) -> Pairs:
        """The evidence for and against the candidate labels of some documents.

        Args:
            documents: The documents.
            scores: Their `member_scores`.
        """
        return self._pairs(documents, list(scores.values()), self.counts, self.evidence)

    def member_scores(self, documents: EncodedDocuments) -> dict[str, NDArray[np.float32]]:
        """The scores of each member, float32 [documents, L]."""
        return {name: self.members[name].scores(reading) for name, reading in self._readings(documents)}

    def knows(self, word: str) -> bool:
        """Whether a word, as any member reads it, tells that member anything."""
        if self.config.text.tokenizer != "raw":
            return any(member.knows(word) for member in self.members.values())
        return any(
            member.knows(read) for member in self.members.values() for read in member.encoder.pipeline.read(word)
        )

    @property
    def explainer(self) -> str:
        """Words by occlusion, and what each kind of evidence adds."""
        return "joined"

    @property
    def parameters(self) -> int:
        """The number of weights of all members, and of the leaves of the trees."""
        return sum(member.parameters for member in self.members.values()) + int((self.trees.left < 0).sum())

    def _readings(self, documents: EncodedDocuments) -> Iterator[tuple[str, EncodedDocuments]]:
        """The documents as each member reads them; members that read texts alike share the result."""
        raw = documents.selected_tokens
        known: dict[tuple[TextConfig, bool], Tokens] = {}
        for name, member in self.members.items():
            encoder = member.encoder
            tokens = raw
            if self.config.text.tokenizer == "raw":
                reading = encoder.pipeline.config, encoder.reads_raw
                if reading not in known:
                    known[reading] = encoder.reread_tokens(raw)
                tokens = known[reading]
            yield name, EncodedDocuments((), tokens, encoder.encode_tokens(tokens))

    def _standing(self, name: str, truth: csr_array, scores: Dense) -> Standing:
        """How good a member or the joined model is, with one threshold for all labels."""
        best = best_threshold(truth, scores)
        found = flat_metrics(truth, csr_array(scores >= best.threshold), averaged=self.counts > 0)
        return Standing(name, found.micro.f1, found.macro.f1, name in self.members or name == "joined")

    def _leave_out_members(
        self, training: Examples, folds: NDArray[np.int64], scores: Mapping[str, Dense], context: FitContext
    ) -> None:
        """Leave out members, trying the last first, if the others do better without them."""
        sample = np.random.default_rng(self.seed).permutation(len(training))
        documents = np.sort(sample[: max(100, _MOST_COMPARED // self.evidence.candidates)])

        def loss(names: Sequence[str]) -> float:
            context.progress("choosing members", 0, None, ", ".join(names))
            return self._loss(training, folds, {name: scores[name] for name in names}, documents)

        kept = list(self.members)
        best = loss(kept) if len(kept) > 1 else 0.0
        for name in reversed(list(self.members)):
            others = [other for other in kept if other != name]
            if others and (found := loss(others)) < best:
                kept, best = others, found
        self._keep(kept)

    def _loss(
        self,
        training: Examples,
        folds: NDArray[np.int64],
        scores: Mapping[str, Dense],
        documents: NDArray[np.int64],
    ) -> float:
        """The log loss of a join of some members: trees are fitted to half of the documents, tested on the rest."""
        evidence = replace(self.evidence, members=tuple(scores))
        pairs = self._out_of_fold_pairs(training, folds, list(scores.values()), documents, evidence)
        truth, learned = _truth(pairs, training.labels), folds[pairs.documents] % 2 == 0
        trees = self._fit_trees(pairs, truth, np.flatnonzero(learned), _COMPARED_TREES, evidence)
        logits = trees.logits(pairs.rows[~learned])
        missed = training.labels[documents[folds[documents] % 2 == 1]].nnz - truth[~learned].sum()  # no candidates
        loss = np.logaddexp(0, np.where(truth[~learned], -logits, logits)).sum()
        return float(loss + missed * _COST_OF_MISSING)

    def _keep(self, names: Sequence[str]) -> None:
        """Keep only some of the members, also in the configuration."""
        listed = {*names, *self.config.without}
        members = {name: config for name, config in self.config.members.items() if name in listed}
        self.config = self.config.replace(members=members)
        self._take(names, self.evidence.candidates)

    def _take(self, names: Sequence[str], candidates: int) -> None:
        self._members = {name: self.members[name] for name in names}
        self.evidence = EvidenceMaker(tuple(names), self.classes, candidates, self.config.without)

    def _pairs(
        self, documents: EncodedDocuments, scores: Sequence[Dense], counts: Any, evidence: EvidenceMaker
    ) -> Pairs:
        names = self._names.evidence(documents) if self._names is not None else {}
        return evidence.pairs(scores, names, counts, documents.lengths)

    def _out_of_fold_pairs(
        self,
        training: Examples,
        folds: NDArray[np.int64],
        scores: Sequence[Dense],
        documents: NDArray[np.int64],
        evidence: EvidenceMaker,
    ) -> Pairs:
        """The pairs of some training documents, with label counts that leave out their folds."""
        inside = [np.asarray(training.labels[folds == fold].sum(axis=0)) for fold in range(int(folds.max()) + 1)]
        counts = self.counts - np.stack([found.ravel() for found in inside])  # [folds, L]
        parts = []
        for rows in _chunks(len(documents), len(self.classes)):
            chunk = documents[rows]
            part = training.documents.select(chunk)
            found = self._pairs(part, [one[chunk] for one in scores], counts[folds[chunk]], evidence)
            parts.append(replace(found, documents=chunk[found.documents]))
        joined = (np.concatenate([getattr(part, name) for part in parts]) for name in ("documents", "labels", "rows"))
        return Pairs(*joined)

    def _fit_join(
        self, pairs: Pairs, truth: NDArray[np.bool_], folds: NDArray[np.int64], context: FitContext
    ) -> NDArray[np.float64]:
        """Fit the trees to all pairs; returns the logit of each pair by trees fitted without its part of the folds."""
        generator = np.random.default_rng(self.seed)
        part_of = folds[pairs.documents] % _PARTS
        staged = np.zeros((len(_COUNTS), len(pairs)))
        for part in range(_PARTS):
            context.progress("joining", part, _PARTS + 1)
            used = _sample(pairs, np.flatnonzero(part_of != part), generator)
            trees = self._fit_trees(pairs, truth, used, _COUNTS[-1], self.evidence)
            inside = part_of == part
            for index, count in enumerate(_COUNTS):
                staged[index, inside] = trees.first(count).logits(pairs.rows[inside])
        losses = [np.logaddexp(0, np.where(truth, -logits, logits)).sum() for logits in staged]
        best = int(np.argmin(losses))
        used = _sample(pairs, np.arange(len(pairs)), generator)
        self.trees = self._fit_trees(pairs, truth, used, _COUNTS[best], self.evidence)
        context.progress("joining", _PARTS + 1, _PARTS + 1)
        logits: NDArray[np.float64] = staged[best]
        return logits

    def _fit_trees(
        self,
        pairs: Pairs,
        truth: NDArray[np.bool_],
        used: NDArray[np.int64],
        count: int,
        evidence: EvidenceMaker,
    ) -> Trees:
        rows, rising = pairs.rows[used], evidence.rising
        return fit_trees(rows, truth[used], self.config.join, count, rising=rising, seed=self.seed)

    def _save(self, folder: Path) -> None:
        """Write `join.safetensors`: the trees, the label counts, and what was learned of label names."""
        names = self._names.save(folder) if self._names is not None else {}
        arrays = {
            "counts": self.counts,
            "candidates": np.array([self.evidence.candidates]),
            **self.trees.arrays(),
            **names,
        }
        write_arrays(folder / _WEIGHTS, arrays)

    def _load(self, folder: Path) -> None:
        with reading_arrays(folder / _WEIGHTS):
            arrays = ModelArrays.read(folder / _WEIGHTS)
            self.counts = arrays.dense("counts", np.int64, (len(self.classes),), 0, 2**53)
            candidates = int(arrays.dense("candidates", np.int64, (1,), 1, 2**31)[0])
            self._names = self._label_names()
            self._take(list(self.members), candidates)
            if self._names is not None:
                self._names.load(folder, arrays)
            self.trees = Trees.from_arrays(arrays.arrays, len(self.evidence.features))


def _chunks(count: int, width: int) -> Iterator[NDArray[np.int64]]:
    step = max(1, _CELLS // max(1, width))
    for start in range(0, count, step):
        yield np.arange(start, min(start + step, count))


def _filled(pairs: Pairs, logits: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Probabilities as a matrix; 0 where there is no pair."""
    scores = np.zeros(shape, np.float32)
    scores[pairs.documents, pairs.labels] = logistic(logits)
    return scores


def _truth(pairs: Pairs, labels: csr_array) -> NDArray[np.bool_]:
    """Whether each pair is true; [pairs]."""
    if not len(pairs):
        return np.zeros(0, bool)
    return np.asarray(labels[pairs.documents, pairs.labels]).ravel().astype(bool)


def _sample(pairs: Pairs, used: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """All of the pairs or, if there are too many, those of a random sample of documents."""
    if len(used) <= _MOST_PAIRS:
        return used
    documents = np.unique(pairs.documents[used])
    kept = generator.permutation(documents)[: int(len(documents) * _MOST_PAIRS / len(used))]
    return used[np.isin(pairs.documents[used], kept)]
