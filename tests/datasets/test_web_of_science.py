import pytest

from taxocaps.datasets import web_of_science
from taxocaps.errors import ConfigError, CorpusError, FileError


def write(folder, count=20):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "X.txt").write_text("".join(f"Abstract {number} – here.\n" for number in range(count)), encoding="utf-8")
    (folder / "YL1.txt").write_text("".join(f"{number % 3}\n" for number in range(count)))
    (folder / "YL2.txt").write_text("".join(f"{number % 2 * 11}\n" for number in range(count)))
    (folder / "Y.txt").write_text("0\n" * count)
    return folder


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "WOS5736", 10)
    write(tmp_path / "WOS46985")
    return tmp_path


def test_every_abstract_has_a_domain_and_an_area(files):
    dataset = web_of_science.load(files, check=False)
    assert dataset.name == "wos46985"
    documents = {document.id: document for _, document in dataset.documents()}
    assert len(documents) == 20
    assert documents["1"].labels == ("0", "0/0")
    assert documents["6"].labels == ("2", "2/11")
    assert documents["6"].text == "Abstract 5 – here."
    assert dataset.taxonomy.children("Root") == ("0", "1", "2")
    assert dataset.taxonomy.children("2") == ("2/0", "2/11")


def test_the_split_is_fixed(files):
    dataset = web_of_science.load(files, check=False)
    assert [len(dataset.splits[name]) for name in ("train", "dev", "test")] == [16, 2, 2]
    assert dataset == web_of_science.load(files, check=False)
    assert [document.id for document in dataset.splits["train"]] != [str(number) for number in range(1, 17)]


def test_a_folder_can_be_named_or_given(files):
    named = web_of_science.load(files, subset="WOS5736", check=False)
    assert sum(map(len, named.splits.values())) == 10
    given = web_of_science.load(files / "WOS5736", check=False)
    assert given.splits == named.splits
    with pytest.raises(ConfigError, match="must be one of WOS46985, WOS11967, WOS5736; got 'WOS1'"):
        web_of_science.load(files, subset="WOS1")


def test_names_become_titles(files):
    (files / "Meta-data").mkdir()
    table = "Y1\tY2\tY\tDomain\tarea\tAbstract\n0\t11\t3\t CS \t Machine learning \ta\n2\t0\t1\tCivil\tWater\ta\n"
    (files / "Meta-data" / "Data.txt").write_text(table)
    taxonomy = web_of_science.load(files, check=False).taxonomy
    assert (taxonomy.title("0"), taxonomy.title("0/11"), taxonomy.title("1")) == ("CS", "Machine learning", "1")


def test_missing_files_and_wrong_counts(files):
    with pytest.raises(CorpusError, match="WOS46985: 20 documents, but officially there are 46,985"):
        web_of_science.load(files)
    (files / "WOS46985" / "YL2.txt").write_text("1\n2\n")
    with pytest.raises(CorpusError, match=r"X\.txt has 20 lines, YL1\.txt 20, YL2\.txt 2"):
        web_of_science.load(files, check=False)
    (files / "WOS46985" / "YL1.txt").unlink()
    with pytest.raises(FileError, match=r"no WOS46985/YL1\.txt .*doi\.org"):
        web_of_science.load(files, check=False)
