"""Folders in which long work is done: what they refuse, what they keep, and that no crash loses anything."""

import json
from pathlib import Path

import pytest

from taxocaps.errors import CheckpointError, CorpusError, FileError, WriteError
from taxocaps.workflows.folders import TrainingFolder, WorkFolder, resume_hint

MODEL = {
    "versions.json": json.dumps(
        {"format": "taxocaps-model/2", "files": {"config.yaml": "", "weights.safetensors": ""}}
    ),
    "README.md": "a card",
    "config.yaml": "seed: 0\n",
    "weights.safetensors": "numbers",
}
RESUMABLE = "checkpoints/last.ckpt"


class StopError(Exception):
    """Stands for whatever ends a run."""


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def finish(out, files=MODEL, fingerprint="a run", existing="refuse", **options):
    with TrainingFolder(out, fingerprint, existing, **options) as folder:
        write(folder.work, {RESUMABLE: "state"})
        write(folder.result, files)
        folder.publish()


def interrupt(out, error=StopError, files=(RESUMABLE,), existing="refuse", fingerprint="a run"):
    with pytest.raises(error), TrainingFolder(out, fingerprint, existing) as folder:
        write(folder.work, dict.fromkeys(files, "state"))
        raise error("stopped")


def begin(target):
    with WorkFolder(target) as work:
        (work.kept / "part").write_text("done")
        (work.result / "new").write_text("new")
        yield work


def test_a_result_takes_the_place_of_the_old_one(tmp_path):
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


def test_one_run_at_a_time_encodes(tmp_path):
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


def test_a_finished_run_leaves_the_model_alone(tmp_path):
    finish(tmp_path / "deep" / "model")
    assert content(tmp_path / "deep" / "model") == MODEL
    assert not (tmp_path / "deep" / "model" / ".training").exists()


def test_checkpoints_stay_if_asked_for(tmp_path):
    finish(tmp_path / "model", keep=True)
    found = content(tmp_path / "model")
    assert found.items() >= MODEL.items()
    assert f".training/{RESUMABLE}" in found


def test_a_model_is_replaced_only_when_asked_for(tmp_path):
    finish(tmp_path / "model")
    with pytest.raises(FileError, match="has a model already; choose another --out, or give --overwrite"):
        finish(tmp_path / "model", {**MODEL, "README.md": "new"})
    assert content(tmp_path / "model") == MODEL
    finish(tmp_path / "model", {**MODEL, "README.md": "new"}, existing="overwrite")
    assert content(tmp_path / "model") == {**MODEL, "README.md": "new"}


def test_nothing_of_the_old_model_is_left(tmp_path):
    finish(tmp_path / "model", {**MODEL, "history.csv": "1"})
    finish(tmp_path / "model", existing="overwrite")
    assert content(tmp_path / "model") == MODEL


def test_until_the_new_model_is_complete_the_old_one_stays(tmp_path):
    finish(tmp_path / "model")
    interrupt(tmp_path / "model", existing="overwrite")
    assert content(tmp_path / "model").items() >= MODEL.items()
    interrupt(tmp_path / "model", error=CorpusError, files=(), existing="overwrite")
    assert content(tmp_path / "model") == MODEL


@pytest.mark.parametrize("existing", ["refuse", "resume", "overwrite"])
def test_what_is_no_model_is_never_touched(tmp_path, monkeypatch, existing):
    write(tmp_path, {"file": "x", "home/thesis.txt": "years of work", "here/.keep": ""})
    for name, message in {"file": "is a file", "home": "exists and is not a model"}.items():
        with pytest.raises(FileError, match=f"{name}: {message}; choose another --out"):
            finish(tmp_path / name, existing=existing)
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FileError, match="is the current folder"):
        finish(Path(), existing=existing)
    assert content(tmp_path) == {"file": "x", "home/thesis.txt": "years of work", "here/.keep": ""}


@pytest.mark.parametrize("existing", ["resume", "overwrite"])
@pytest.mark.parametrize("name", ["notes.txt", "figures/one.txt"])
@pytest.mark.parametrize("state", ["finished", "interrupted", "somebody else's versions.json"])
def test_files_that_are_not_of_a_model_are_never_lost(tmp_path, existing, name, state):
    out = tmp_path / "model"
    if state == "finished":
        finish(out)
    elif state == "interrupted":
        interrupt(out)
    else:
        write(out, {"versions.json": "{}"})
    write(out, {name: "mine"})
    before = content(out)
    with pytest.raises(FileError, match="choose another --out"):
        finish(out, existing=existing)
    assert content(out) == before


def test_an_empty_folder_is_as_good_as_none(tmp_path):
    (tmp_path / "model").mkdir()
    finish(tmp_path / "model")
    assert content(tmp_path / "model") == MODEL


@pytest.mark.parametrize("error", [StopError, KeyboardInterrupt, WriteError])
def test_an_interrupted_run_stays_and_is_not_begun_anew_by_mistake(tmp_path, error):
    interrupt(tmp_path / "model", error)
    with pytest.raises(FileError, match="has an interrupted run; give --resume to continue it, or --overwrite"):
        finish(tmp_path / "model")
    with TrainingFolder(tmp_path / "model", "a run", "resume") as folder:
        assert (folder.work / RESUMABLE).exists()
        assert list(folder.result.iterdir()) == []


def test_overwriting_begins_an_interrupted_run_anew(tmp_path):
    interrupt(tmp_path / "model")
    with TrainingFolder(tmp_path / "model", "another run", "overwrite") as folder:
        assert not (folder.work / RESUMABLE).exists()


def test_a_run_that_got_nowhere_needs_no_permission(tmp_path):
    interrupt(tmp_path / "model", files=())
    finish(tmp_path / "model")
    assert content(tmp_path / "model") == MODEL


def test_only_the_same_run_is_resumed(tmp_path):
    interrupt(tmp_path / "model")
    with pytest.raises(CheckpointError, match="the interrupted run had other documents or options"):
        finish(tmp_path / "model", fingerprint="another run", existing="resume")
    assert (tmp_path / "model" / ".training" / RESUMABLE).exists()
    finish(tmp_path / "model", existing="resume")
    assert content(tmp_path / "model") == MODEL


def test_resuming_where_nothing_is_begins(tmp_path):
    finish(tmp_path / "model", existing="resume")
    assert content(tmp_path / "model") == MODEL


def test_there_is_nothing_to_resume_in_a_finished_model(tmp_path):
    finish(tmp_path / "model")
    with pytest.raises(FileError, match="--overwrite"):
        finish(tmp_path / "model", {**MODEL, "README.md": "new"}, fingerprint="another run", existing="resume")
    assert content(tmp_path / "model") == MODEL


def test_bad_input_leaves_nothing(tmp_path):
    interrupt(tmp_path / "model", CorpusError, files=("training/words.npy",))
    assert list(tmp_path.iterdir()) == []


def test_bad_input_does_not_cost_an_interrupted_run(tmp_path):
    interrupt(tmp_path / "model")
    interrupt(tmp_path / "model", CorpusError, files=(), existing="resume")
    assert (tmp_path / "model" / ".training" / RESUMABLE).exists()


@pytest.mark.parametrize("existing", ["refuse", "resume", "overwrite"])
def test_one_run_at_a_time(tmp_path, existing):
    with TrainingFolder(tmp_path / "model", "a run") as folder:
        with pytest.raises(FileError, match="another run is writing there; wait for it"):
            finish(tmp_path / "model", existing=existing)
        write(folder.result, MODEL)
        folder.publish()
    assert content(tmp_path / "model") == MODEL


def crash_in_publish(monkeypatch, out, step, existing, files):
    """Let a run end at the given step, of removing or moving files, of publishing its model."""
    steps = []

    def stopping(original):
        def method(path, *arguments, **options):
            if out in path.parents and path.name in {*files, "history.csv"}:
                steps.append(path.name)
                if len(steps) == step:
                    raise StopError
            return original(path, *arguments, **options)

        return method

    with monkeypatch.context() as patch, TrainingFolder(out, "a run", existing) as folder:
        write(folder.work, {RESUMABLE: "state"})
        write(folder.result, files)
        patch.setattr(Path, "replace", stopping(Path.replace))
        patch.setattr(Path, "unlink", stopping(Path.unlink))
        folder.publish()


@pytest.mark.parametrize("existing", ["refuse", "overwrite"])
@pytest.mark.parametrize("step", range(1, 1 + len(MODEL)))
def test_a_crash_while_files_move_loses_nothing(tmp_path, monkeypatch, existing, step):
    out, new = tmp_path / "model", {**MODEL, "README.md": "new", "weights.safetensors": "other numbers"}
    old = {**MODEL, "history.csv": "old"}
    if existing == "overwrite":
        finish(out, old)
    with pytest.raises(StopError):
        crash_in_publish(monkeypatch, out, step, existing, new)
    found = content(out)
    assert f".training/{RESUMABLE}" in found
    # A mark of a model beside files of another would make them look whole.
    if "versions.json" in found:
        assert {name: text for name, text in found.items() if not name.startswith(".training/")} in (old, new)
    finish(out, new, existing="resume")
    assert content(out) == new


def test_a_crash_after_the_last_file_leaves_a_whole_model(tmp_path):
    with pytest.raises(StopError), TrainingFolder(tmp_path / "model", "a run") as folder:
        write(folder.work, {RESUMABLE: "state"})
        write(folder.result, MODEL)
        folder.publish()
        raise StopError
    assert content(tmp_path / "model").items() >= MODEL.items()
    finish(tmp_path / "model", existing="resume")
    assert content(tmp_path / "model") == MODEL


def test_processes_that_train_together_have_folders_of_their_own(tmp_path, monkeypatch):
    with TrainingFolder(tmp_path / "model", "a run") as first:
        monkeypatch.setenv("LOCAL_RANK", "1")
        with TrainingFolder(tmp_path / "model", "a run") as second:
            assert second.work != first.work
            assert not second.is_first_process
            assert (first.work, first.is_first_process) == (tmp_path / "model" / ".training", True)
        write(first.result, MODEL)
        first.publish()
    assert content(tmp_path / "model") == MODEL
