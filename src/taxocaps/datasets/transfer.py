"""The transfer task on Reuters-21578 (Zhao et al. 2018, Peng et al. 2019): learn single labels, find several.

The ten topics with most documents; train and validate on documents with one of them, test on documents with several.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from taxocaps.corpus.dataset import Dataset
from taxocaps.corpus.document import Document
from taxocaps.datasets.checks import check_counts
from taxocaps.datasets.rcv1_topics import built_in_topics, read_topics
from taxocaps.datasets.reuters_stories import PUBLICATION, Collection
from taxocaps.datasets.splits import draw_order, named_splits
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["NEW_TOPICS", "RCV1_CODES", "SEED", "TOPICS", "ceiling", "learnable_topics", "make", "transfer_taxonomy"]

RCV1_CODES: Mapping[str, str] = {
    "earn": "C151",  # accounts/earnings
    "acq": "C181",  # mergers/acquisitions
    "money-fx": "M132",  # forex markets
    "crude": "M143",  # energy markets
    "trade": "E512",  # merchandise trade
    "interest": "M131",  # interbank markets, where interest rates are made
}
"""The RCV1 topic that a Reuters topic is; the node keeps its place and takes the name of the Reuters topic."""

NEW_TOPICS: Mapping[str, str] = {
    "grain": "M141",  # soft commodities
    "wheat": "M141",
    "corn": "M141",
    "ship": "M14",  # commodity markets: RCV1 has no topic of transport, and ships are in the news with their cargoes
}
"""Topics without an RCV1 topic of their own, and the one that each becomes a new child of."""

TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")
"""The ten topics, as Zhao et al. list them."""

SEED = 0
"""Of the draws."""

_TRAIN, _DEV, _TEST = 5_800, 600, 300
_OFFICIAL = {"single-label documents": 7_692, "multi-label documents": 620}


def make(collection: Collection, rcv1: Path | None = None, *, check: bool = True) -> Dataset:
    """Make the task of the stories of ModApte, training and test ones alike, by the rule of Zhao et al.

    A story belongs to the task when those of its topics that are among the 90 of R90 are among the ten, too. Stories
    with one of the ten are drawn into "train" (5,800) and "dev" (600), 300 of those with several into "test", by a
    fixed seed; "test_all" has all with several.

    Args:
        collection: The stories.
        rcv1: A folder with the taxonomy of RCV1; by default the built-in copy is taken.
        check: Whether there must be 7,692 stories with one topic and 620 with several. Otherwise fewer are drawn in
            the same proportion.
    """
    documents = _documents(collection)
    single = {name: document for name, document in documents.items() if len(document.labels or ()) == 1}
    several = {name: document for name, document in documents.items() if name not in single}
    if check:
        counts = {"single-label documents": len(single), "multi-label documents": len(several)}
        check_counts(f"{PUBLICATION.title}, transfer", counts, _OFFICIAL)
    drawn = draw_order(single, SEED)
    share = min(1.0, len(single) / (_TRAIN + _DEV))
    train_end, dev_end = round(_TRAIN * share), round((_TRAIN + _DEV) * share)
    chosen = {
        "train": drawn[:train_end],
        "dev": drawn[train_end:dev_end],
        "test": draw_order(several, SEED)[:_TEST],
        "test_all": list(several),
    }
    splits = {split: [documents[name] for name in sorted(names, key=int)] for split, names in chosen.items()}
    return Dataset(
        name="reuters21578-transfer",
        splits=named_splits(splits),
        taxonomy=transfer_taxonomy(read_topics(rcv1) if rcv1 else built_in_topics()),
        description=_description(splits),
    )


def transfer_taxonomy(rcv1: Taxonomy) -> Taxonomy:
    """The taxonomy of RCV1 in which each of the ten topics is a node of its own.

    Raises:
        TaxonomyError: When a code is not in it.
    """
    for code in (*RCV1_CODES.values(), *NEW_TOPICS.values()):
        rcv1.position(code)
    names = {code: topic for topic, code in RCV1_CODES.items()}
    titles = {names.get(code, code): title for code, title in rcv1.titles.items()}
    for topic, code in RCV1_CODES.items():
        titles[topic] = f"{rcv1.title(code)} ({code})"
    edges = [(names.get(parent, parent), names.get(child, child)) for parent, child in rcv1.edges]
    edges += [(parent, topic) for topic, parent in NEW_TOPICS.items()]
    return Taxonomy.from_edges(edges, titles=titles)


def learnable_topics(train: Iterable[Document]) -> tuple[str, ...]:
    """Those of the ten topics that a training document carries."""
    carried = {label for document in train for label in document.labels or ()}
    return tuple(topic for topic in TOPICS if topic in carried)


def ceiling(train: Iterable[Document], test: Iterable[Document]) -> float:
    """The micro-F1 of a model that is right about all topics it could learn, and never gives the others."""
    learnable = set(learnable_topics(train))
    labels = [label for document in test for label in document.labels or ()]
    found = sum(label in learnable for label in labels)
    return 2 * found / (found + len(labels)) if labels else 0.0


def _documents(collection: Collection) -> dict[str, Document]:
    """The documents of the task by id, with their topics out of the ten."""
    r90, ten = collection.r90(), frozenset(TOPICS)
    documents = {}
    for story in (*collection.part("train"), *collection.part("test")):
        topics = tuple(topic for topic in story.topics if topic in r90)
        if topics and ten.issuperset(topics):
            documents[str(story.id)] = Document(story.text, str(story.id), topics)
    return documents


def _description(splits: Mapping[str, list[Document]]) -> str:
    learnable = learnable_topics(splits["train"])
    others = [topic for topic in TOPICS if topic not in learnable]
    limits = ", ".join(f"{ceiling(splits['train'], splits[name]):.3f} on {name}" for name in ("test", "test_all"))
    return (
        f"{PUBLICATION.title}, transfer: train and validate on documents with one of ten topics, test on documents "
        f"with several. Learnable topics ({len(learnable)}): {', '.join(learnable)}. Never alone, so without a "
        f"training document: {', '.join(others) or 'none'}. Micro-F1 over ten topics cannot exceed {limits}."
    )
