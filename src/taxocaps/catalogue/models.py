"""All models by name: the thirteen variants of the paper (its Table 2) and the twenty methods it compares with."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from taxocaps.errors import ConfigError, nearest
from taxocaps.nn.networks import NETWORKS
from taxocaps.registry import Registry
from taxocaps.scorers.base import SCORERS

__all__ = ["AUTO", "MODELS", "PAPER", "VARIANTS", "ModelSpec", "Variant", "all_models", "find_model"]

PAPER = "the HE-AGCRCNN paper"
"""What the variants cite."""

_FAMILIES = {
    "joined": "several ways at once",
    "linear": "a bag of words",
    "sequence": "a sequence",
    "graph": "a graph of words",
    "other": "its package says",
}


@dataclass(frozen=True)
class ModelSpec:
    """A model that can be trained by its name.

    Attributes:
        name: Its name in the paper.
        family: How it reads a document: `linear` models as a bag of words, others as a sequence or a graph, `joined`
            ones as all of their members do; of a model of another package that may not be known (`other`).
        reads: The encodings that it reads; None for a scorer of another package, whose options decide that.
        summary: What it is, in a few words.
        citation: Where it was published.
        use: When to use it.
        axes: The options that its name decides, as nested mappings.
        alternatives: Values that such an option may have instead, by its key.
        usual: Options that it has unless told otherwise.
        members: The models that it joins, by name.
        slow: Models that it joins, too, if it is given more time than usual.
    """

    name: str
    family: Literal["joined", "linear", "sequence", "graph", "other"]
    reads: tuple[str, ...] | None
    summary: str
    citation: str
    use: str
    axes: Mapping[str, Any]
    usual: Mapping[str, Any] = field(default_factory=dict)
    alternatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    members: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()

    @property
    def input(self) -> str:
        """What it makes of a document, in words."""
        return _FAMILIES[self.family]

    @property
    def is_variant(self) -> bool:
        """Whether it is one of the thirteen of the paper."""
        return self.citation == PAPER

    @property
    def has_presets(self) -> bool:
        """Whether presets change it: they are for networks, on their own or as members."""
        if self.family == "joined":
            return any(find_model(member).has_presets for member in self.members)
        return self.family != "linear"


@dataclass(frozen=True)
class Variant:
    """A model of the paper.

    Attributes:
        name: Its name in the paper.
        row_order: Whether the rows of a words-matrix keep the order of the text.
        recurrent: Whether an LSTM follows each convolution.
        attention: Whether its inputs are weighted by block.
        head: Dense layers, or capsules with dynamic routing.
        label_weights: Whether all labels weigh the same as negatives, or by their distance in the taxonomy.
    """

    name: str
    row_order: Literal["unordered", "ordered"]
    recurrent: Literal["none", "lstm"]
    attention: Literal["none", "blocks"]
    head: Literal["dense", "capsule"]
    label_weights: Literal["uniform", "taxonomy"] = "uniform"


_UNIFORM = (
    Variant("TGCNN(No-R)", "unordered", "none", "none", "dense"),
    Variant("TGCNN", "ordered", "none", "none", "dense"),
    Variant("TGRCNN", "ordered", "lstm", "none", "dense"),
    Variant("TAGRCNN", "ordered", "lstm", "blocks", "dense"),
    Variant("GCCNN", "ordered", "none", "none", "capsule"),
    Variant("GCRCNN", "ordered", "lstm", "none", "capsule"),
    Variant("AGCRCNN", "ordered", "lstm", "blocks", "capsule"),
)

VARIANTS = (
    *_UNIFORM,
    *(
        dataclasses.replace(variant, name=f"HE-{variant.name}", label_weights="taxonomy")
        for variant in _UNIFORM
        if variant.row_order == "ordered"
    ),
)
"""All variants, in the order of the paper; each HE row is its base with one axis changed."""


_SLOW, _FAST = {"learning_rate": 1e-3}, {"learning_rate": 4e-3}
"""The best of three rates on dev documents (docs/quality.md), where that is not the default."""


def _of_variant(variant: Variant) -> ModelSpec:
    parts = [
        f"{variant.row_order} rows",
        *(["LSTM"] if variant.recurrent == "lstm" else []),
        *(["block attention"] if variant.attention == "blocks" else []),
        {"dense": "dense layers", "capsule": "capsules"}[variant.head],
        *(["label weights from the taxonomy"] if variant.label_weights == "taxonomy" else []),
    ]
    axes: dict[str, Any] = {
        "scorer": "network",
        "graph": {"row_order": variant.row_order},
        "network": {
            "kind": "words-matrix",
            "recurrent": variant.recurrent,
            "attention": variant.attention,
            "head": variant.head,
        },
        "loss": {"label_weights": variant.label_weights},
    }
    is_plain = variant.head == "dense" and variant.label_weights == "uniform"
    usual: dict[str, Any] = {"loss": {"kind": "cross-entropy" if is_plain else "margin"}}
    if variant.head == "dense":
        usual["training"] = _SLOW
    # The paper's plan: what reads a row from left to right may be self-attention in place of the LSTM.
    alternatives = {"network.recurrent": ("self-attention",)} if variant.recurrent == "lstm" else {}
    texts = (", ".join(parts), PAPER, _use(variant))
    return ModelSpec(variant.name, "graph", ("words-matrix",), *texts, axes, usual, alternatives)


def _use(variant: Variant) -> str:
    if variant.head == "dense":
        return "to compare with: the network without capsules"
    if variant.recurrent == "none":
        return "in half the time of the models with an LSTM"
    return "the whole model" if variant.attention == "blocks" else "to compare with"


def _linear(row: tuple[str, str, str, str], loss: str, structure: str, **usual: Any) -> ModelSpec:
    axes = {"scorer": "linear", "linear": {"loss": loss, "structure": structure}}
    return ModelSpec(row[0], "linear", (), *row[1:], axes, {"linear": usual})


def _network(row: tuple[str, str, str, str], axes: Mapping[str, Any], reads: str = "tokens", **usual: Any) -> ModelSpec:
    options = {"scorer": "network", **({"network": axes} if "kind" in axes else axes)}
    return ModelSpec(row[0], "sequence", (reads,), *row[1:], options, {**_USUAL, **usual})


def _graph(row: tuple[str, str, str, str], **usual: Any) -> ModelSpec:
    axes = {"scorer": "network", "network": {"kind": "dgcnn"}, "graph": {"row_order": "unordered"}}
    return ModelSpec(
        row[0], "graph", ("words-matrix",), *row[1:], axes, {"loss": {**_CROSS_ENTROPY, **usual}, **_ALONE}
    )


_CROSS_ENTROPY = {"kind": "cross-entropy", "label_weights": "uniform"}
_ALONE = {"prior": {"kind": "none"}}
_USUAL = {"loss": _CROSS_ENTROPY, **_ALONE}
_MARGIN = {"kind": "margin", "label_weights": "uniform", "down": 0.5}
_CHARACTERS: dict[str, Any] = {
    "tokens": {"length": 1014},
    "vocabulary": {"min_count": 1, "max_size": 100},
    "vectors": {"source": "none", "dimension": 16},
    "training": {"vectors_rate": 1.0, "vectors_epsilon": 1e-8},  # no character is rare
}
_FAN, _GOPAL, _PENG, _ZHAO = "Fan et al. 2008", "Gopal and Yang 2013", "Peng et al. 2018", "Zhao et al. 2018"

_BASELINES = (
    _linear(
        (
            "LR",
            "logistic regression, one-vs-rest",
            _FAN,
            "where scores should be probabilities; much like SVM",
        ),
        "logistic",
        "flat",
        C=30.0,
    ),
    _linear(
        (
            "SVM",
            "linear support vector machine, one-vs-rest",
            _FAN,
            "first of all: hard to beat on small data, and trained in seconds",
        ),
        "hinge",
        "flat",
    ),
    _linear(
        (
            "TD-SVM",
            "a linear SVM at every node, from the top down",
            "Liu et al. 2005",
            "many labels in a deep taxonomy: each node looks at few documents",
        ),
        "hinge",
        "top_down",
    ),
    _linear(
        (
            "HSVM",
            "large margin over paths of the taxonomy",
            "Tsochantaridis et al. 2005",
            "where a near miss in the taxonomy is better than a far one; one label a document",
        ),
        "hinge",
        "structured",
        C=3.0,
    ),
    _linear(
        ("HR-LR", "logistic regression, each label near its parent", _GOPAL, "rare labels below frequent ones"),
        "logistic",
        "recursive",
        C=10.0,
    ),
    _linear(
        ("HR-SVM", "linear SVM, each label near its parent", _GOPAL, "rare labels below frequent ones"),
        "hinge",
        "recursive",
    ),
    _network(
        ("LSTM", "the last state of an LSTM", "Hochreiter and Schmidhuber 1997", "short texts; to compare with"),
        {"kind": "lstm", "directions": 1},
        training=_FAST,
    ),
    _network(
        ("BiLSTM", "the last states of an LSTM each way", "Graves 2005", "short texts; to compare with"),
        {"kind": "lstm", "directions": 2},
        training=_FAST,
    ),
    _network(
        (
            "HLSTM",
            "an LSTM over words, another over sentences, the mean of each",
            "Tang et al. 2015; Chen et al. 2016",
            "texts of many sentences; to compare with",
        ),
        {"kind": "hierarchical", "pooling": "mean", "cell": "lstm", "directions": 1},
        "sentences",
        network={"units": 200},
        training=_FAST,
    ),
    _network(
        (
            "CNN-non-static",
            "n-gram features, the greatest of each",
            "Kim 2014",
            "a quick network for single phrases that tell",
        ),
        {"kind": "kim-cnn"},
    ),
    _network(
        ("RCNN", "each word between its contexts, the greatest of each feature", "Lai et al. 2015", "to compare with"),
        {"kind": "rcnn"},
        training=_FAST,
    ),
    _network(
        (
            "XML-CNN",
            "n-gram features, the greatest of each part, a bottleneck",
            "Liu et al. 2017",
            "news, and thousands of labels",
        ),
        {"kind": "xml-cnn"},
    ),
    _graph(("DGCNN-3", "convolutions over the subgraphs of ranked words", _PENG, "to compare with")),
    _graph(("HR-DGCNN-3", "the same, each label near its parent", _PENG, "to compare with"), recursive=1e-4),
    _network(
        ("HAN", "attention to words, then to sentences", "Yang et al. 2016", "texts of many sentences"),
        {"kind": "hierarchical", "pooling": "attention", "cell": "gru", "directions": 2},
        "sentences",
        training=_FAST,
    ),
    _network(
        ("Bi-BloSAN", "self-attention in blocks, both ways", "Shen et al. 2018", "to compare with"),
        {"kind": "bi-blosan"},
    ),
    _network(
        ("SGM+GE", "labels one after another", "Yang et al. 2018", "labels that come together; costly to predict with"),
        {"kind": "sgm"},
        loss={},
    ),
    _network(
        ("DCNN", "a very deep network over characters", "Conneau et al. 2016", "hundreds of thousands of documents"),
        {"network": {"kind": "vdcnn"}, "text": {"tokenizer": "characters"}},
        **_CHARACTERS,
    ),
    _network(
        ("Capsule-A", "n-gram capsules, dynamic routing", _ZHAO, "to compare with"),
        {"kind": "capsule-text", "branches": (3,)},
        loss=_MARGIN,
        training=_FAST,
    ),
    _network(
        ("Capsule-B", "n-gram capsules of three widths side by side", _ZHAO, "to compare with"),
        {"kind": "capsule-text", "branches": (3, 4, 5)},
        loss=_MARGIN,
        training=_FAST,
    ),
)


def _view(features: str, tokenizer: str, **bag: Any) -> Mapping[str, Any]:
    """A linear member over one kind of features."""
    return {
        "scorer": "linear",
        "text": {"tokenizer": tokenizer},
        "bag": {"features": features, **bag},
        "linear": {"C": None, "tolerance": 1e-3},
    }


AUTO = ModelSpec(
    "auto",
    "joined",
    (),
    "linear models of words, pairs and characters, label names, frequency and taxonomy, joined",
    "this package",
    "always, unless you want one particular model",
    {"scorer": "joined"},
    {
        "text": {"tokenizer": "raw"},
        "time": 600,
        "choose": True,
        "members": {
            "words": _view("words", "words"),
            "pairs": _view("pairs", "plain", max_features=300_000),
            "characters": _view("characters", "plain", min_documents=3, max_features=150_000),
        },
    },
    slow=("XML-CNN", "HE-AGCRCNN"),
)
"""The default model."""

MODELS = (AUTO, *map(_of_variant, VARIANTS), *_BASELINES)
"""All models, the default first, then the variants."""


def find_model(name: str) -> ModelSpec:
    """The model of a name, in any case; networks and scorers of other packages go by the names they are registered by.

    Raises:
        ConfigError: For an unknown name; the nearest is named.

    >>> find_model("he-agcrcnn").name, find_model("svm").family
    ('HE-AGCRCNN', 'linear')
    """
    wanted = name.lower()
    for model in MODELS:
        if model.name.lower() == wanted:
            return model
    members = _members(wanted)
    if len(members) > 1:
        return _of_members(members)
    external = _external_models()
    for theirs, describe in external.items():  # described only if it is meant: its package may be slow, or broken
        if theirs.lower() == wanted:
            return describe(theirs)
    names = {one.lower(): one for one in (*(model.name for model in MODELS), *external)}
    close = nearest(wanted, names)
    hint = f"did you mean {names[close]}?" if close else f"there are {', '.join(names.values())}"
    raise ConfigError(f"no model is called {name!r}; {hint}")


def _members(wanted: str) -> list[ModelSpec]:
    """The models of a name such as `svm+xml-cnn`; none if it is not made of names of models. Some names have a `+`."""
    for model in MODELS:
        name = model.name.lower()
        if wanted == name:
            return [model]
        if wanted.startswith(f"{name}+") and (others := _members(wanted[len(name) + 1 :])):
            return [model, *others]
    return []


def _of_members(members: Sequence[ModelSpec]) -> ModelSpec:
    """Several models joined."""
    names = [member.name for member in members]
    for member in members:
        if member.family == "joined" or member.axes.get("text") == {"tokenizer": "characters"}:
            raise ConfigError(f"{member.name} cannot be joined with other models; leave it out")
        if names.count(member.name) > 1:
            raise ConfigError(f"{member.name} is named twice; name each member once")
    return ModelSpec(
        "+".join(names),
        "joined",
        (),
        f"{', '.join(names[:-1])} and {names[-1]}, joined with label names, frequency and taxonomy",
        "this package",
        "to join models of your choice",
        {"scorer": "joined"},
        {"text": {"tokenizer": "raw"}},
        members=tuple(names),
    )


def all_models() -> tuple[ModelSpec, ...]:
    """All models, those of other packages last; only what is known of these without loading them."""
    return (*MODELS, *(_listed(registry, name) for registry in (NETWORKS, SCORERS) for name in _external(registry)))


def _external_models() -> Mapping[str, Callable[[str], ModelSpec]]:
    """The names of the networks and scorers that other packages bring, with what makes models of them."""
    return {**dict.fromkeys(_external(NETWORKS), _of_network), **dict.fromkeys(_external(SCORERS), _of_scorer)}


def _external(registry: Registry[Any]) -> list[str]:
    return [name for name in registry if registry.is_external(name)]


def _listed(registry: Registry[Any], name: str) -> ModelSpec:
    package, summary = registry.package(name)
    return ModelSpec(name, "other", None, summary or f"a {registry.noun}", package, "as its package says", {})


def _of_network(name: str) -> ModelSpec:
    network = NETWORKS[name]
    axes = {"scorer": "network", "network": {"kind": name}}
    usual = _USUAL if network.objective == "pointwise" else {}
    family: Literal["graph", "sequence"] = "graph" if "words-matrix" in network.reads else "sequence"
    return ModelSpec(
        name, family, network.reads, _summary(network), _origin(network), "as its package says", axes, usual
    )


def _of_scorer(name: str) -> ModelSpec:
    scorer = SCORERS[name]
    axes = {"scorer": name}
    return ModelSpec(name, "other", None, _summary(scorer), _origin(scorer), "as its package says", axes)


def _summary(kind: type) -> str:
    return (kind.__doc__ or kind.__name__).strip().split("\n")[0].rstrip(".")


def _origin(kind: type) -> str:
    return f"the package {kind.__module__.partition('.')[0]}"
