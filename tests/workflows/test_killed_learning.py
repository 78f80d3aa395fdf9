"""Learning that is killed between two changes of files: there are whole models wherever one stood."""

import itertools
import multiprocessing
import os
import shutil
import signal
import sys

import pytest
from workflows.test_learn import documents, feedback, labels_of

from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.workflows.learn import before, learn
from taxocaps.workflows.train import TrainFiles, train

EVERY = 3
"""Killed before the first change of files, before the fourth, and so on, until there are no more."""
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "ctypes.dlopen"}
"""Audit events before a change of files; `ctypes.dlopen` comes before two folders change places."""


def _is_change(event, arguments):
    return event in CHANGES or (event == "open" and isinstance(arguments[1], str) and arguments[1] not in ("r", "rb"))


def _learn_until(model, corrected, last):
    """Learn in a process that is killed before its last change of files; whether it was."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1] == signal.SIGKILL
    numbers = itertools.count(1)

    def hook(event, arguments):
        if _is_change(event, arguments) and next(numbers) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    try:
        learn(model, corrected)
    finally:
        os._exit(0)


def _kill_again_and_again(folder):
    model = folder / "model"
    write_documents(documents(90, 1), folder / "train.jsonl")
    write_documents(documents(30, 2, "t"), folder / "test.jsonl")
    train(TrainFiles(folder / "train.jsonl", test=folder / "test.jsonl"), model, model="SVM")
    earlier, newer = (
        [Document(f"{animal} {animal} grass", f"{animal}{number}", ("wheat",)) for number in range(4)]
        for animal in ("zebu", "yak")
    )
    learn(model, feedback(folder, earlier))
    for path in (model, before(model)):
        shutil.copytree(path, folder / "saved" / path.name)
    corrected = feedback(folder, earlier + newer)
    given, kills = corrected.read_bytes(), 0
    while _learn_until(model, corrected, 1 + EVERY * kills):
        kills += 1
        assert labels_of(model, "zebu zebu zebu") == {"wheat"}
        assert labels_of(before(model), "zebu zebu zebu") <= {"wheat"}
        assert corrected.read_bytes() == given
        learn(model, corrected)
        assert [labels_of(path, "yak yak yak") for path in (model, before(model))] == [{"wheat"}, set()]
        assert labels_of(before(model), "zebu zebu zebu") == {"wheat"}
        for path in (model, before(model)):
            shutil.rmtree(path)
            shutil.copytree(folder / "saved" / path.name, path)
    assert kills > 10
    wanted = {"feedback.jsonl", "model", "model.before", "saved", "test.jsonl", "train.jsonl"}
    assert {path.name for path in folder.iterdir()} == wanted


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere folders change places in three steps")
def test_a_kill_leaves_whole_models_and_the_same_command_learns_all_the_same(tmp_path, monkeypatch):
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # a process with threads cannot be forked
        monkeypatch.setenv(name, "1")
    process = multiprocessing.get_context("spawn").Process(target=_kill_again_and_again, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 0
