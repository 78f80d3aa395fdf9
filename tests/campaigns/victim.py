"""A process that tries folders for others: each in a child of its own, with a limit of time and memory.

It reads lines `{"kind": ..., "folder": ...}` and answers each with a line `{"outcome": ..., "message": ...}`. Outcomes:

- `answer`: labels came out; `message` has their hash.
- `refused`: an error that a user can correct, in one line.
- `lost`: any other error, several lines, or labels whose scores are no probabilities.
- `hung`: more time than allowed.
- `crashed`: ended by a signal.
"""

import hashlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from taxocaps.corpus.document import Document
from taxocaps.encoding.store import open_store
from taxocaps.errors import TaxoCapsError
from taxocaps.scorers.persistence import load_model

TEXT = "The goalkeeper saved a penalty in the cup final. Officials test riders for gene doping."
SECONDS = 30
"""Of one core; waiting may take four times as long."""
MEMORY = 3 * 2**30
"""Beyond what the process has before it begins."""


def label(folder):
    """The labels that a model gives."""
    model = load_model(folder)
    documents = [Document(TEXT)]
    own = model.own_scores(model.scorer.encoder.encode(documents))
    found = [prediction.as_dict() for prediction in model.predictions(documents, own)]
    scores = [one["score"] for prediction in found for one in prediction["labels"]]
    if not (np.isfinite(own).all() and all(0 <= score <= 1 for score in scores)):
        raise ArithmeticError(f"scores that are no probabilities: {scores[:5]}")
    return found


def read(folder):
    """All that is in a store, as models read it."""
    store = open_store(folder)
    everything = np.arange(len(store))
    documents = [(one.id, one.labels, one.split) for one in store.documents]
    words = [words for tokens in store.token_chunks() for words in tokens.documents()]
    encodings = {name: store.encoding(name).arrays(everything) for name in store.encodings}
    return [documents, words, {name: [int(array.sum()) for array in arrays] for name, arrays in encodings.items()}]


TRY = {"model": label, "store": read}


def attempt(kind, folder):
    """What becomes of a folder, in this process."""
    try:
        answer = json.dumps(TRY[kind](Path(folder)))
        return {"outcome": "answer", "message": hashlib.sha256(answer.encode()).hexdigest()}
    except TaxoCapsError as error:
        message = str(error)
        return {"outcome": "lost" if "\n" in message or len(message) > 2_000 else "refused", "message": message[:2_000]}
    except MemoryError:
        return {"outcome": "refused", "message": "not enough memory"}  # the command line says so in one line
    except BaseException:
        return {"outcome": "lost", "message": traceback.format_exc()[-3_000:]}


def guarded(kind, folder):
    """What becomes of a folder, in a child that may crash, hang, or ask for any amount of memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _in_child(kind, folder, writing)
    os.close(writing)
    status, is_late = _wait(child)
    with os.fdopen(reading, "rb") as file:
        content = file.read()
    if is_late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return {"outcome": "hung", "message": f"more than {SECONDS} s"}
    if os.WIFSIGNALED(status):
        return {"outcome": "crashed", "message": signal.Signals(os.WTERMSIG(status)).name}
    return json.loads(content) if content else {"outcome": "lost", "message": f"ended with {status} and no word"}


def _in_child(kind, folder, writing):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    cpu = int(time.process_time()) + SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with os.fdopen(writing, "wb") as file:
        file.write(json.dumps(attempt(kind, folder)).encode())
    os._exit(0)


def _wait(child):
    """Wait for a child, which writes little enough for a pipe to hold, and end it if it takes too long."""
    end = time.monotonic() + 4 * SECONDS
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status, False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1], True


def main():
    """Try the folders of an unchanged model of each kind once, so that children find everything loaded; then serve."""
    for request in map(json.loads, sys.stdin):
        if request.get("warm"):
            found = attempt(request["kind"], request["folder"])
        else:
            found = guarded(request["kind"], request["folder"])
        print(json.dumps(found), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
