"""Reuters-21578: subsets, collection, SGML, transfer task."""

import io
import itertools
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from taxocaps.datasets import reuters21578
from taxocaps.datasets.loading import SourceFile
from taxocaps.datasets.rcv1 import built_in_topics
from taxocaps.datasets.reuters21578 import (
    NEW_TOPICS,
    RCV1_CODES,
    TOPICS,
    Collection,
    Story,
    make_transfer,
    modapte_split,
    read_collection,
    read_stories,
    transfer_taxonomy,
)
from taxocaps.errors import ConfigError, CorpusError, FileError, TaxonomyError
from taxocaps.progress import silent
from taxocaps.taxonomy.embedding import LabelVectorsConfig, train_label_vectors
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.walks import WalkConfig
from taxocaps.taxonomy.writers import write_taxonomy


def ids(dataset, *splits):
    return [int(document.id) for split in splits for document in dataset.splits[split]]


def load(folder, subset="r90"):
    return reuters21578.load(folder, subset=subset, check=False)


@pytest.mark.parametrize("subset", ["r90", "r10", "all", "transfer"])
def test_both_kinds_of_files_give_the_same_data_set(reuters_official, reuters_prepared, subset):
    assert load(reuters_official, subset) == load(reuters_prepared, subset)


def test_r90_has_the_documents_with_a_topic_of_r90(reuters_official):
    dataset = load(reuters_official)
    assert ids(dataset, "train", "dev") == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert ids(dataset, "dev") == [10]  # the latest
    assert ids(dataset, "test") == [11, 12, 13, 14, 16]
    assert dataset.splits["dev"][0].labels == ("earn",)  # without tin
    assert dataset.splits["test"][-1].labels == ("gold",)
    assert {document.split for document in dataset.splits["dev"]} == {"dev"}
    labels = {label for _, document in dataset.documents() for label in document.labels}
    assert labels <= set(dataset.taxonomy.names)


def test_all_keeps_documents_without_topics(reuters_official):
    dataset = load(reuters_official, "all")
    assert ids(dataset, "train", "dev") == list(range(1, 11))
    assert ids(dataset, "test") == list(range(11, 17))
    assert dataset.splits["test"][4].labels == ()


def test_r10_takes_the_most_frequent_topics(reuters_official, monkeypatch):
    counts = reuters21578.Counter({"b": 2, "a": 2, "c": 3, "d": 1})
    assert reuters21578._most_frequent(counts, 3) == ["c", "a", "b"]
    dataset = load(reuters_official, "r10")  # there are nine topics with a training document
    assert ids(dataset, "train", "dev") == [1, 2, 3, 4, 5, 6, 7, 8, 10]


def test_official_counts_and_subsets_are_checked(reuters_prepared):
    with pytest.raises(CorpusError, match="officially"):
        reuters21578.load(reuters_prepared)
    with pytest.raises(ConfigError, match="must be one of r90, r10, all, transfer; got 'r8'"):
        reuters21578.load(reuters_prepared, subset="r8")


def read(folder, check=False):
    return read_collection(folder, check=check, progress=silent)


def test_official_and_prepared_files_give_the_same(reuters_official, reuters_prepared):
    official, prepared = read(reuters_official), read(reuters_prepared)
    assert len(official.stories) == 18
    assert official.stories == prepared.stories
    assert official.taxonomy == prepared.taxonomy


def test_the_archive_need_not_be_unpacked(reuters_official, tmp_path):
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed" / "reuters21578.tar.gz", "w:gz") as archive:
        for path in (reuters_official / "reuters21578").iterdir():
            info = tarfile.TarInfo(f"./{path.name}")
            info.size = path.stat().st_size
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    assert read(tmp_path / "packed").stories == read(reuters_official).stories


def test_topics_stand_under_the_groups_of_the_distribution(reuters_official):
    taxonomy = read(reuters_official).taxonomy
    assert taxonomy.children("Root") == ("ship", "CORPORATE", "COMMODITY", "ENERGY")
    assert taxonomy.children("CORPORATE") == ("acq", "earn")
    assert taxonomy.title("earn") == "Earnings and Earnings Forecasts"
    assert "adb-africa" not in taxonomy


def test_r90_is_what_training_and_test_documents_share(reuters_official):
    assert read(reuters_official).r90() == {"earn", "acq", "grain", "wheat", "crude", "ship", "gold"}


def test_a_missing_file_is_named(reuters_official):
    with pytest.raises(FileError, match=r"no reut2-002\.sgm .*published at https://archive\.ics\.uci\.edu"):
        read(reuters_official, check=True)
    (reuters_official / "reuters21578" / "cat-descriptions_120396.txt").unlink()
    with pytest.raises(FileError, match=r"no cat-descriptions_120396\.txt"):
        read(reuters_official)


def test_a_damaged_list_of_topics(reuters_official):
    path = reuters_official / "reuters21578" / "cat-descriptions_120396.txt"
    path.write_text(path.read_text().replace("WHEAT\n", ""))
    with pytest.raises(FileError, match="the 135 subject codes are missing"):
        read(reuters_official)


def test_counts_and_ids_must_be_the_official_ones(reuters_prepared, reuters_official):
    with pytest.raises(CorpusError, match="18 documents, but officially there are 21,578"):
        read(reuters_prepared, check=True)
    folder = reuters_official / "reuters21578"
    for number in range(2, 22):
        shutil.copy(folder / "reut2-001.sgm", folder / f"reut2-{number:03}.sgm")
    with pytest.raises(CorpusError, match="the id 11 occurs twice"):
        read(reuters_official, check=True)
    assert len(read(reuters_official).stories) == 18


def parsed(tmp_path, content):
    path = tmp_path / "reut2-000.sgm"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    return list(read_stories(SourceFile("reut2-000.sgm", Path(path))))


def story(text, topics="<D>earn</D>", attributes='TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET"'):
    return (
        f'<REUTERS {attributes} OLDID="5544" NEWID="7">\n<TOPICS>{topics}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n'
        f"{text}\n</REUTERS>\n"
    )


def test_a_story_of_the_usual_type(tmp_path):
    text = (
        "<TEXT>&#2;\n<TITLE>BAHIA COCOA REVIEW</TITLE>\n<AUTHOR>    By A. Writer</AUTHOR>\n"
        "<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers continued.\n    The dry period.\n Reuter\n&#3;"
        "</BODY></TEXT>"
    )
    head = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'
    expected = Story(7, "BAHIA COCOA REVIEW\nShowers continued.\n    The dry period.", ("earn",), "train")
    assert parsed(tmp_path, head + story(text) + story(text)) == [expected, expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<TEXT TYPE="UNPROC">&#2;\nFED REPORT 1\n  Reserves...644\n\n\n&#3;</TEXT>', "FED REPORT 1\n  Reserves...644"),
        (
            '<TEXT TYPE="BRIEF">&#2;\n******<TITLE>ASSETS ROSE</TITLE>\nBlah.\n&#3;\n\n</TEXT>',
            "ASSETS ROSE\n******Blah.",
        ),
        ("<TEXT>&#2;\n<TITLE>ONLY A TITLE</TITLE>\n</TEXT>", "ONLY A TITLE"),
        ("<TEXT><BODY>AT&T, S&amp;P &lt;GM> &gt;5\n REUTER\n&#3;</BODY></TEXT>", "AT&T, S&P <GM> >5"),
        ("<TEXT><BODY>Said Reuter.\nReuter news\n</BODY></TEXT>", "Said Reuter.\nReuter news"),
        ("<TEXT><BODY>gr\xfcn\x03\x1f\x80 &#127;&#30;tea\r\nor\ttwo</BODY></TEXT>", "gr\xfcn tea\nor\ttwo"),
        ("", ""),
    ],
    ids=["unproc", "brief", "no body", "entities", "reuter in the text", "bytes", "no text"],
)
def test_the_quirks_of_the_collection(tmp_path, text, expected):
    assert parsed(tmp_path, story(text))[0].text == expected


def test_topics_stand_in_their_own_element_and_are_given_once(tmp_path):
    assert parsed(tmp_path, story("", "<D>trade</D><D>earn</D><D>trade</D>"))[0].topics == ("trade", "earn")
    assert parsed(tmp_path, story("", ""))[0].topics == ()


@pytest.mark.parametrize(
    ("lewis", "topics", "split"),
    [
        ("TRAIN", "YES", "train"),
        ("TEST", "YES", "test"),
        ("NOT-USED", "YES", "unused"),
        ("TRAIN", "NO", "unused"),
        ("TEST", "BYPASS", "unused"),
    ],
)
def test_modapte_goes_by_the_attributes(tmp_path, lewis, topics, split):
    assert modapte_split(lewis, topics) == split
    # Attributes come in any order, and some stories have one more.
    attributes = f'CSECS="x" LEWISSPLIT="{lewis}" TOPICS="{topics}"'
    assert parsed(tmp_path, story("", attributes=attributes))[0].split == split


def test_a_story_without_an_id(tmp_path):
    with pytest.raises(FileError, match=r"reut2-000\.sgm: a story without a NEWID"):
        parsed(tmp_path, '<REUTERS TOPICS="YES">\n</REUTERS>')


TREE = Taxonomy.from_edges([("Root", topic) for topic in (*TOPICS, "wheat", "gold", "tea")])


def collection(single=80, several=12):
    """Stories with one of eight topics in both parts, stories with two of them, and some that are left out."""
    pairs = itertools.cycle(itertools.combinations(TOPICS, 2))
    stories = [Story(number, f"s{number}", (TOPICS[number % 8],), "train") for number in range(single)]
    stories += [Story(single + n, "m", next(pairs), ("train", "test")[n % 2]) for n in range(several)]
    last = single + several
    left_out = [
        *(((topic,), "test") for topic in TOPICS),  # alone, but no training stories
        (("earn",), "unused"),
        ((), "train"),
        (("gold",), "train"),
        (("gold", "earn"), "test"),
        (("grain", "wheat"), "train"),  # wheat never occurs alone
        (("grain", "wheat", "ship"), "test"),
    ]
    stories += [Story(last + number, "", *row) for number, row in enumerate(left_out)]
    return Collection(stories, TREE)


def test_every_topic_is_a_node_of_its_own():
    taxonomy = transfer_taxonomy(built_in_topics())
    assert set(RCV1_CODES) | set(NEW_TOPICS) == set(TOPICS)
    assert len(set(RCV1_CODES.values())) == len(RCV1_CODES)
    assert len({taxonomy.position(topic) for topic in TOPICS}) == 8
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
    assert taxonomy.children("M141") == ("grain",)
    assert taxonomy.parents("ship") == ("M14",)
    others = set(rcv1.names) - set(RCV1_CODES.values())
    assert {name: taxonomy.title(name) for name in others} == {name: rcv1.title(name) for name in others}
    with pytest.raises(TaxonomyError, match="C151"):
        transfer_taxonomy(Taxonomy.from_edges([("Root", "CCAT")]))


def test_single_labels_are_for_training_and_several_for_the_test():
    dataset = make_transfer(collection(), check=False)
    assert {name: len(documents) for name, documents in dataset.splits.items()} == {"train": 72, "dev": 8, "test": 12}
    assert sorted(ids(dataset, "train", "dev")) == list(range(80))
    assert ids(dataset, "test") == list(range(80, 92))
    assert all(len(document.labels) == 1 for name in ("train", "dev") for document in dataset.splits[name])
    assert dataset == make_transfer(collection(), check=False)
    assert "Topics (8): earn, acq, money-fx, grain, crude, trade, interest, ship." in dataset.description


def test_all_topics_of_a_test_document_occur_alone():
    stories = [story for story in collection().stories if story.topics != ("ship",) or story.split == "test"]
    dataset = make_transfer(Collection(stories, TREE), check=False)
    used = {label for document in dataset.splits["test"] for label in document.labels}
    assert used <= set(TOPICS) - {"ship"}
    assert len(dataset.splits["test"]) == 12 - sum("ship" in story.topics for story in stories if story.text == "m")


def test_topics_outside_r90_do_not_count():
    stories = [
        *collection().stories,
        Story(500, "", ("tea", "earn"), "train"),
        Story(501, "", ("tea", "earn", "acq"), "test"),
    ]
    dataset = make_transfer(Collection([story for story in stories if story.id != 501], TREE), check=False)
    assert 500 in ids(dataset, "train", "dev")  # tea has no test story: earn is the only topic
    dataset = make_transfer(Collection(stories, TREE), check=False)
    assert not {500, 501} & set(ids(dataset, "train", "dev", "test"))  # now it has one


def test_the_counts_of_the_transfer_task_are_checked():
    dataset = make_transfer(collection(5_502, 339))
    sizes = {name: len(documents) for name, documents in dataset.splits.items()}
    assert sizes == {"train": 4_952, "dev": 550, "test": 339}
    with pytest.raises(CorpusError, match="80 single-label training documents, but officially there are 5,502"):
        make_transfer(collection())


def test_another_taxonomy_of_rcv1_can_be_given(reuters_official, tmp_path):
    rcv1 = built_in_topics()
    (tmp_path / "rcv1").mkdir()
    more = Taxonomy.from_edges([*rcv1.edges, ("Root", "NEW")])
    write_taxonomy(more, tmp_path / "rcv1" / "rcv1.topics.hier.orig")
    plain = reuters21578.load(reuters_official, subset="transfer", check=False)
    other = reuters21578.load(reuters_official, subset="transfer", rcv1=tmp_path / "rcv1", check=False)
    assert set(other.taxonomy.names) - set(plain.taxonomy.names) == {"NEW"}
    assert other.splits == plain.splits
    assert ids(plain, "test") == []
