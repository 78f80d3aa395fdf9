"""Members joined: the scores of several scorers, label names, frequency and taxonomy become one probability."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import SerializeAsAny, field_validator
from scipy.sparse import csr_array

from taxocaps.config import Between
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.errors import ConfigError, ModelError
from taxocaps.joining.evidence import EvidenceMaker, Pairs
from taxocaps.joining.names import LabelNames, label_terms
from taxocaps.joining.trees import Trees, TreesConfig, fit_trees
from taxocaps.metrics.calibration import logistic
from taxocaps.metrics.classification import flat_metrics
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.results import FitReport, Standing
from taxocaps.scorers.base import SCORERS, CrossFit, Examples, FitContext, ModelConfig, Scorer, make_scorer
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.tokens import Tokens

__all__ = ["JoinedModelConfig", "JoinedScorer"]

_WEIGHTS = "join.safetensors"
_CELLS = 2_000_000
"""Pairs of a document and any label that are looked at together."""
_MOST_PAIRS = 600_000
"""Trees are fitted to the pairs of so many documents as have about this number; more teach them nothing new."""
_PARTS = 3
"""Trees are fitted without one part of the documents after another, to see how many of them are best."""
_COUNTS = (25, 50, 75, 100, 150, 200, 300)


class JoinedModelConfig(ModelConfig):
    """The options of a joined model.

    Attributes:
        scorer: The kind of scorer.
        text: How texts become words; with the tokenizer `raw` each member has a tokenizer of its own.
        folds: Number of folds for the scores of members; 0 takes 10 for up to 2,000 documents, 5 up to 20,000, then 3.
        members: The options of each member, by name.
        names: Whether the names of labels are evidence.
        join: How evidence becomes a probability.
    """

    scorer: Literal["joined"] = "joined"
    text: TextConfig = TextConfig(tokenizer="raw")
    folds: Annotated[int, Between(0, 20)] = 0
    members: dict[str, SerializeAsAny[ModelConfig]]
    names: bool = True
    join: TreesConfig = TreesConfig()

    @property
    def gives_unseen(self) -> bool:
        """By their names, if these are evidence."""
        return self.names and self.decision.unseen

    @field_validator("members", mode="before")
    @classmethod
    def _of_their_kinds(cls, given: Any) -> Any:
        """Each member has the configuration of its own kind of scorer."""
        if not isinstance(given, Mapping) or not given:
            raise ConfigError("members is a section with the options of one or several members")
        return {str(name): _member_config(str(name), options) for name, options in given.items()}


def _member_config(name: str, options: Any) -> ModelConfig:
    if isinstance(options, ModelConfig):
        return options
    if not isinstance(options, Mapping) or "scorer" not in options:
        raise ConfigError(f"members.{name} must name its kind of scorer; there are {', '.join(SCORERS)}")
    return SCORERS[str(options["scorer"])].config_type(options).model_validate(options)


class JoinedScorer(Scorer):
    """Members, and trees that make probabilities of what they and the names of labels say."""

    Config = JoinedModelConfig
    is_calibrated = True
    pools_validation = True

    trees: Trees
    counts: NDArray[np.int64]
    """Training documents of each label; [L]."""

    @cached_property
    def _members(self) -> dict[str, Scorer]:
        return {
            name: make_scorer(config.replace(text=self._text_of(config)), self.classes, self.seed, self.threads)
            for name, config in self.config.members.items()
        }

    @property
    def members(self) -> Mapping[str, Scorer]:
        """The members by name."""
        return self._members

    def _text_of(self, member: ModelConfig) -> TextConfig:
        """A member reads raw tokens its own way, and the words of any other tokenizer as they are."""
        text: TextConfig = self.config.text
        return text.replace(tokenizer=member.text.tokenizer) if text.tokenizer == "raw" else text

    @cached_property
    def _names(self) -> LabelNames | None:
        if not self.config.names:
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
        """Join members fitted on very few documents: what they say of the documents they know is all there is."""
        folds = np.arange(len(training)) % 2 if len(training) > 1 else np.zeros(1, np.int64)
        return self.cross_fit(training, folds, context).report

    def cross_fit(self, training: Examples, folds: NDArray[np.int64], context: FitContext) -> CrossFit:
        """Fit members on folds, the trees on what they say of documents they have not seen, then members on all."""
        if self.start is not None:
            raise ModelError("joined models do not start from another model; train on all documents together")
        self.counts = np.asarray(training.labels.sum(axis=0)).ravel().astype(np.int64)
        self._candidates = EvidenceMaker.candidates_for(training.labels)
        found = {}
        for name, reading in self._readings(training.documents):
            within = context.called(name).within("members", name)
            found[name] = self.members[name].cross_fit(Examples(reading, training.labels), folds, within).scores
        if self._names is not None:
            self._names.fit(training.documents)
        pairs = self._out_of_fold_pairs(training, folds, list(found.values()))
        truth = np.zeros(0, bool)
        if len(pairs):
            truth = np.asarray(training.labels[pairs.documents, pairs.labels]).ravel().astype(bool)
        logits = self._fit_join(pairs, truth, context)
        scores = _filled(pairs, logits, training.labels.shape)
        standings = tuple(_standing(name, training.labels, one) for name, one in {**found, "joined": scores}.items())
        return CrossFit(FitReport(standings=standings), scores)

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """The probability of each label; 0 for labels that nothing speaks for, and for a document without words."""
        scores = np.zeros((len(documents), len(self.classes)), np.float32)
        for chunk in _chunks(len(documents), len(self.classes)):
            part = documents.select(chunk)
            pairs = self.pairs(part, self.member_scores(part))
            scores[chunk] = _filled(pairs, self.trees.logits(pairs.rows), (len(chunk), len(self.classes)))
        return scores

    def pairs(self, documents: EncodedDocuments, scores: Mapping[str, NDArray[np.float32]]) -> Pairs:
        """What speaks for and against the labels that may be those of some documents.

        Args:
            documents: The documents.
            scores: What `member_scores` says of them.
        """
        return self._pairs(documents, list(scores.values()), self.counts)

    def member_scores(self, documents: EncodedDocuments) -> dict[str, NDArray[np.float32]]:
        """The scores of each member, float32 [documents, L]."""
        return {name: self.members[name].scores(reading) for name, reading in self._readings(documents)}

    @cached_property
    def evidence(self) -> EvidenceMaker:
        """What makes evidence of the scores of members and the names of labels."""
        names = LabelNames.features if self._names is not None else ()
        return EvidenceMaker(tuple(self.members), names, self.classes, self._candidates)

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
        """For each member the documents as it reads them; a text is read once for all members that read it alike."""
        raw = documents.tokens if documents.indices is None else documents.tokens.select(documents.indices)
        known: dict[TextConfig, Tokens] = {}
        for name, member in self.members.items():
            encoder = member.encoder
            tokens = raw
            if self.config.text.tokenizer == "raw":
                config = encoder.pipeline.config
                if config not in known:
                    known[config] = encoder.pipeline.reread(raw)
                tokens = known[config]
            yield name, EncodedDocuments((), tokens, encoder.encode_tokens(tokens))

    def _pairs(self, documents: EncodedDocuments, scores: Sequence[NDArray[np.float32]], counts: Any) -> Pairs:
        names = self._names.evidence(documents) if self._names is not None else {}
        return self.evidence.pairs(scores, names, counts, documents.lengths)

    def _out_of_fold_pairs(
        self, training: Examples, folds: NDArray[np.int64], scores: Sequence[NDArray[np.float32]]
    ) -> Pairs:
        """The pairs of all training documents, with what was known without their folds."""
        fold_counts = [training.labels[folds != fold].sum(axis=0) for fold in range(int(folds.max()) + 1)]
        counts = np.stack([np.asarray(found).ravel() for found in fold_counts])  # [folds, L]
        parts = []
        for chunk in _chunks(len(training), len(self.classes)):
            part = training.documents.select(chunk)
            found = self._pairs(part, [one[chunk] for one in scores], counts[folds[chunk]])
            parts.append(replace(found, documents=chunk[found.documents]))
        joined = (np.concatenate([getattr(part, name) for part in parts]) for name in ("documents", "labels", "rows"))
        return Pairs(*joined)

    def _fit_join(self, pairs: Pairs, truth: NDArray[np.bool_], context: FitContext) -> NDArray[np.float64]:
        """Fit the trees to all pairs; returns logits of each pair by trees fitted without its document."""
        generator = np.random.default_rng(self.seed)
        part_of = generator.permutation(int(pairs.documents.max(initial=0)) + 1)[pairs.documents] % _PARTS
        staged = np.zeros((len(_COUNTS), len(pairs)))
        for part in range(_PARTS):
            context.progress("joining", part, _PARTS + 1)
            used = _sample(pairs, np.flatnonzero(part_of != part), generator)
            trees = self._fit_trees(pairs, truth, used, _COUNTS[-1])
            inside = part_of == part
            for index, count in enumerate(_COUNTS):
                staged[index, inside] = trees.first(count).logits(pairs.rows[inside])
        losses = [np.logaddexp(0, np.where(truth, -logits, logits)).sum() for logits in staged]
        best = int(np.argmin(losses))
        used = _sample(pairs, np.arange(len(pairs)), generator)
        self.trees = self._fit_trees(pairs, truth, used, _COUNTS[best])
        context.progress("joining", _PARTS + 1, _PARTS + 1)
        logits: NDArray[np.float64] = staged[best]
        return logits

    def _fit_trees(self, pairs: Pairs, truth: NDArray[np.bool_], used: NDArray[np.int64], count: int) -> Trees:
        rows, rising = pairs.rows[used], self.evidence.rising
        return fit_trees(rows, truth[used], self.config.join, count, rising=rising, seed=self.seed)

    def _save(self, folder: Path) -> None:
        """Write `join.safetensors`: the trees, the counts of labels, and what is known of their names."""
        from safetensors.numpy import save_file

        names = self._names.save(folder) if self._names is not None else {}
        arrays = {"counts": self.counts, "candidates": np.array([self._candidates]), **self.trees.arrays(), **names}
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / _WEIGHTS)
        (folder / _WEIGHTS).chmod(0o644)

    def _load(self, folder: Path) -> None:
        from safetensors.numpy import load_file

        try:
            arrays = load_file(folder / _WEIGHTS)
            self.counts, self._candidates = arrays["counts"], int(arrays["candidates"][0])
            if self._names is not None:
                self._names.load(folder, arrays)
            self.trees = Trees.from_arrays(arrays, len(self.evidence.features))
            if self.counts.shape != (len(self.classes),):
                raise ValueError("the counts do not fit the labels")
        except ModelError:
            raise
        except Exception as error:  # a damaged archive can fail in a dozen ways
            raise ModelError(f"{folder / _WEIGHTS}: damaged, or not the weights of this model") from error


def _chunks(count: int, width: int) -> Iterator[NDArray[np.int64]]:
    step = max(1, _CELLS // max(1, width))
    for start in range(0, count, step):
        yield np.arange(start, min(start + step, count))


def _filled(pairs: Pairs, logits: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Probabilities as a matrix; 0 where there is no pair."""
    scores = np.zeros(shape, np.float32)
    scores[pairs.documents, pairs.labels] = logistic(logits)
    return scores


def _sample(pairs: Pairs, used: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """The pairs of some of the documents, at random, if there are too many."""
    if len(used) <= _MOST_PAIRS:
        return used
    documents = np.unique(pairs.documents[used])
    kept = generator.permutation(documents)[: int(len(documents) * _MOST_PAIRS / len(used))]
    return used[np.isin(pairs.documents[used], kept)]


def _standing(name: str, truth: csr_array, scores: NDArray[np.float32]) -> Standing:
    best = best_threshold(truth, scores)
    found = flat_metrics(truth, csr_array(scores >= best.threshold))
    return Standing(name, found.micro.f1, found.macro.f1)
