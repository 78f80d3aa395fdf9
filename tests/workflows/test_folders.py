import pytest

from taxocaps.errors import CorpusError, FileError, WriteError
from taxocaps.workflows.folders import WorkFolder, resume_hint


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


def test_what_stood_at_the_target_survives_a_kill_between_the_two_renames(tmp_path):
    target = tmp_path / "target"
    with WorkFolder(target) as work:
        (work.result / "first").write_text("first")
        work.publish()
    # As a killed process leaves it: the old one moved away, the new one not there yet.
    (tmp_path / ".target.partial").mkdir()
    target.rename(tmp_path / ".target.partial" / "old")
    with pytest.raises(CorpusError), WorkFolder(target):
        raise CorpusError("bad input")
    assert (target / "first").read_text() == "first"


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    with WorkFolder(tmp_path / "link") as work:
        (work.result / "new").write_text("new")
        work.publish()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "disk" / "new").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "link"]
