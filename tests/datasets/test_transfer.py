import itertools

import numpy as np
import pytest

from taxocaps.corpus.document import Document
from taxocaps.datasets import reuters21578
from taxocaps.datasets.rcv1_topics import built_in_topics
from taxocaps.datasets.reuters_sgml import Story
from taxocaps.datasets.reuters_stories import Collection
from taxocaps.datasets.transfer import (
    NEW_TOPICS,
    RCV1_CODES,
    TOPICS,
    ceiling,
    learnable_topics,
    make,
    transfer_taxonomy,
)
from taxocaps.errors import CorpusError, TaxonomyError
from taxocaps.taxonomy.embedding import LabelVectorsConfig, train_label_vectors
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.walks import WalkConfig
from taxocaps.taxonomy.writers import write_taxonomy

TREE = Taxonomy.from_edges([("Root", topic) for topic in (*TOPICS, "gold")])


def collection(single=700, several=40):
    """Stories with one of eight topics, stories with several of ten, and some that do not belong to the task."""
    pairs = itertools.cycle(itertools.combinations(TOPICS, 2))
    stories = [
        Story(number, f"s{number}", (TOPICS[number % 8],), ("train", "test")[number % 2]) for number in range(single)
    ]
    stories += [Story(single + n, "m", next(pairs), ("train", "test")[n // 2 % 2]) for n in range(several)]
    last = single + several
    stories += [Story(last, "", ("gold",), "train"), Story(last + 1, "", ("gold", "earn"), "test")]
    stories += [Story(last + 2, "", (), "train"), Story(last + 3, "", ("earn",), "unused")]
    return Collection(stories, TREE)


def test_every_topic_is_a_node_of_its_own():
    taxonomy = transfer_taxonomy(built_in_topics())
    assert set(RCV1_CODES) | set(NEW_TOPICS) == set(TOPICS)
    assert len(set(RCV1_CODES.values())) == len(RCV1_CODES)
    assert len({taxonomy.position(topic) for topic in TOPICS}) == 10
    assert len(taxonomy) == 104 + len(NEW_TOPICS)


def test_no_two_topics_share_a_vector():
    taxonomy = transfer_taxonomy(built_in_topics())
    vectors = train_label_vectors(taxonomy, WalkConfig(length=60, per_label=5), LabelVectorsConfig(dimension=20))
    topics = vectors[[taxonomy.position(topic) for topic in TOPICS]]
    unit = topics / np.linalg.norm(topics, axis=1, keepdims=True)
    cosines = unit @ unit.T - 2 * np.eye(len(TOPICS))
    assert cosines.max() < 0.9999
    assert len(np.unique(topics, axis=0)) == len(TOPICS)


def test_topics_take_the_place_of_their_code_or_become_new_children():
    rcv1, taxonomy = built_in_topics(), transfer_taxonomy(built_in_topics())
    assert taxonomy.path("earn") == ("CCAT", "C15", "earn")
    assert taxonomy.children("earn") == ("C1511",)
    assert taxonomy.title("earn") == "ACCOUNTS/EARNINGS (C151)"
    assert "C151" not in taxonomy
    assert taxonomy.children("M141") == ("grain", "wheat", "corn")
    assert taxonomy.parents("ship") == ("M14",)
    others = set(rcv1.names) - set(RCV1_CODES.values())
    assert {name: taxonomy.title(name) for name in others} == {name: rcv1.title(name) for name in others}
    with pytest.raises(TaxonomyError, match="C151"):
        transfer_taxonomy(Taxonomy.from_edges([("Root", "CCAT")]))


def test_single_labels_are_for_training_and_several_for_the_test():
    dataset = make(collection(), check=False)
    splits = dataset.splits
    assert {name: len(documents) for name, documents in splits.items()} == {
        "train": 634,
        "dev": 66,
        "test": 40,
        "test_all": 40,
    }
    assert all(len(document.labels) == 1 for name in ("train", "dev") for document in splits[name])
    assert all(len(document.labels) == 2 for document in splits["test_all"])
    assert not {document.id for document in splits["train"]} & {document.id for document in splits["dev"]}
    assert dataset == make(collection(), check=False)


def test_sizes_are_those_of_the_paper_when_there_are_enough():
    dataset = make(collection(7_692, 620))
    sizes = {name: len(documents) for name, documents in dataset.splits.items()}
    assert sizes == {"train": 5_800, "dev": 600, "test": 300, "test_all": 620}
    assert {document.id for document in dataset.splits["test"]} < {
        document.id for document in dataset.splits["test_all"]
    }
    for topic in TOPICS[:8]:
        assert any(document.labels == (topic,) for document in dataset.splits["dev"])
    with pytest.raises(CorpusError, match="700 single-label documents, but officially there are 7,692"):
        make(collection())


def test_the_ceiling_is_what_a_perfect_model_reaches_on_what_it_could_learn():
    train = [Document("", labels=("earn",)), Document("", labels=("grain",))]
    test = [Document("", labels=("grain", "wheat")), Document("", labels=("earn", "grain"))]
    # Right: grain, earn, grain. Missed: wheat. Precision 1, recall 3/4.
    assert ceiling(train, test) == pytest.approx(2 * 1 * 0.75 / 1.75)
    assert learnable_topics(train) == ("earn", "grain")
    assert ceiling(test, test) == 1
    assert ceiling(train, []) == 0


def test_the_description_tells_ceiling_and_topics():
    dataset = make(collection(), check=False)
    told = dataset.description
    assert "Learnable topics (8): earn, acq, money-fx, grain, crude, trade, interest, ship." in told
    assert "training document: wheat, corn." in told
    assert f"{ceiling(dataset.splits['train'], dataset.splits['test_all']):.3f} on test_all" in told


def test_another_taxonomy_of_rcv1_can_be_given(reuters_official, tmp_path):
    rcv1 = built_in_topics()
    (tmp_path / "rcv1").mkdir()
    more = Taxonomy.from_edges([*rcv1.edges, ("Root", "NEW")])
    write_taxonomy(more, tmp_path / "rcv1" / "rcv1.topics.hier.orig")
    plain = reuters21578.load(reuters_official, subset="transfer", check=False)
    other = reuters21578.load(reuters_official, subset="transfer", rcv1=tmp_path / "rcv1", check=False)
    assert set(other.taxonomy.names) - set(plain.taxonomy.names) == {"NEW"}
    assert other.splits == plain.splits
    assert [document.id for document in plain.splits["test_all"]] == ["5", "6", "13"]
