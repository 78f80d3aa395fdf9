import pytest

from taxocaps.errors import CorpusError, FileError, WriteError
from taxocaps.workflows.work_folder import WorkFolder, resume_hint


def begin(target):
    with WorkFolder(target) as work:
        (work.kept / "part").write_text("done")
        (work.result / "new").write_text("new")
        yield work


def test_the_result_takes_the_place_of_the_old_one(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").write_text("old")
    for work in begin(target):
        work.publish()
    assert [path.name for path in target.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert resume_hint(target) == ""


@pytest.mark.parametrize(
    ("error", "is_kept"), [(KeyboardInterrupt, True), (WriteError, True), (RuntimeError, True), (CorpusError, False)]
)
def test_what_stays_depends_on_the_end(tmp_path, error, is_kept):
    target = tmp_path / "target"
    with pytest.raises(error), WorkFolder(target) as work:
        (work.kept / "part").write_text("done")
        (work.result / "new").write_text("new")
        raise error("stop")
    assert not target.exists()
    assert bool(resume_hint(target)) == is_kept
    with WorkFolder(target) as work:
        assert [path.name for path in work.kept.iterdir()] == (["part"] if is_kept else [])
        assert not any(work.result.iterdir())


def test_an_interruption_before_anything_is_done_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), WorkFolder(tmp_path / "target"):
        raise KeyboardInterrupt
    assert not any(tmp_path.iterdir())


def test_one_at_a_time(tmp_path):
    with (
        WorkFolder(tmp_path / "target"),
        pytest.raises(FileError, match="another run is writing there"),
        WorkFolder(tmp_path / "target"),
    ):
        pass
