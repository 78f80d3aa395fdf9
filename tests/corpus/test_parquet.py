import subprocess
import sys

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.parquet import read_parquet, write_parquet
from taxocaps.corpus.readers import CorpusConfig, to_document
from taxocaps.errors import CorpusError, FileError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "d.parquet"


def read(path, **options):
    config = CorpusConfig(**options).with_usual_names()
    return [to_document(record, config) for record in read_parquet(path, config)]


def test_a_foreign_table_is_read(path):
    columns = {"body": ["a", None], "key": [1, 2], "topics": [["x", "y"], []], "unused": [b"1", b"2"]}
    parquet.write_table(pyarrow.table(columns), path)
    found = read(path, text_field="body", id_field="key", labels_field="topics")
    assert found == [Document("a", "1", ("x", "y")), Document("", "2", ())]


def test_null_labels_are_no_label_field(path):
    labels = pyarrow.array([None], pyarrow.list_(pyarrow.string()))
    parquet.write_table(pyarrow.table({"text": ["a"], "labels": labels}), path)
    assert read(path) == [Document("a")]


def test_places_are_rows_over_several_batches(path):
    write_parquet(path, (Document(str(n)) for n in range(2500)), CorpusConfig().with_usual_names())
    records = list(read_parquet(path, CorpusConfig().with_usual_names()))
    assert records[2345].location == f"{path}, row 2346"
    assert [record.fields["text"] for record in records] == [str(n) for n in range(2500)]


def test_a_missing_text_column_names_the_columns(path):
    parquet.write_table(pyarrow.table({"body": ["a"]}), path)
    with pytest.raises(CorpusError, match=r"d\.parquet: no field 'text'.*the fields are: 'body'"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"text,id\nx,1\n", b"PAR1" + b"\0" * 50 + b"PAR1"])
def test_what_is_not_parquet_is_told(path, content):
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"d\.parquet: cannot be read as Parquet: .*") as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_a_damaged_file_is_told(path):
    write_parquet(path, [Document("some words " * 50)] * 100, CorpusConfig().with_usual_names())
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"d\.parquet: cannot be read"):
        read(path)


def test_no_file_and_outer_compression_are_told(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        read(tmp_path / "none.parquet")
    for action in (read, lambda path: write_parquet(path, [Document("a")], CorpusConfig().with_usual_names())):
        with pytest.raises(FileError, match="compressed internally"):
            action(tmp_path / "d.parquet.gz")


def test_a_failure_leaves_no_file(path):
    def documents():
        yield Document("a")
        raise CorpusError("stop")

    with pytest.raises(CorpusError, match="stop"):
        write_parquet(path, documents(), CorpusConfig().with_usual_names())
    assert list(path.parent.iterdir()) == []


def test_without_pyarrow_the_extra_is_named(tmp_path):
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path\n"
        "from taxocaps.corpus.readers import CorpusConfig\n"
        "from taxocaps.corpus.parquet import read_parquet\n"
        "from taxocaps.errors import MissingExtraError\n"
        "try: next(read_parquet(Path('d.parquet'), CorpusConfig().with_usual_names()))\n"
        "except MissingExtraError as error: sys.exit(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "taxocaps[parquet]" in done.stderr
