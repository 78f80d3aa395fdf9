"""A process that tries files and folders for others, in children with limits of time and memory, which may crash.

It reads lines `{"kind": ..., "path": ...}`, and tries each in a child of its own; or lines `{"originals": ...,
"mutate": ..., "numbers": ...}`, whose mutations one child makes and tries in turn, as long as it lives: to start a
child takes longer than to read a small file. Each is answered with a line `{"outcome": ..., "message": ...}`. Outcomes:

- `answer`: labels, documents or what else is read came out; `message` has their hash.
- `refused`: an error that a user can correct, in one line.
- `lost`: any other error, several lines, or labels whose scores are no probabilities.
- `hung`: more time than allowed.
- `crashed`: ended by a signal.
"""

import hashlib
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from dataclasses import astuple
from functools import partial
from pathlib import Path

import numpy as np
from campaigns import mutations

from taxocaps.cli.main import main as main_command
from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, read_documents
from taxocaps.datasets import eurlex, rcv1, reuters21578
from taxocaps.encoding.store import open_store
from taxocaps.errors import TaxoCapsError
from taxocaps.feedback.corrections import read_corrections
from taxocaps.feedback.store import FeedbackStore
from taxocaps.scorers.persistence import load_model
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.text.vectors import load_vectors
from taxocaps.text.vocabulary import Vocabulary

TEXT = "The goalkeeper saved a penalty in the cup final. Officials test riders for gene doping."
SECONDS = 30
"""Of one core, for each attempt."""
WAITING = 20
"""How many times as long it may take where others use the core, too."""
BATCH = 200
"""Attempts that a child makes."""
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


def documents(path, **options):
    """The documents of a file."""
    return [astuple(one) for one in read_documents(path, CorpusConfig(**options))]


def count(path):
    """How many documents a file has; not all of them fit into memory."""
    return sum(1 for _ in read_documents(path))


def taxonomy(path, **options):
    """The labels and edges of a file."""
    tree = read_taxonomy(path, **options)
    return [tree.names, tree.edges, [[term.text for term in tree.terms(name)] for name in tree.names]]


def vectors(path):
    """Words and their vectors."""
    found = load_vectors(path)
    return [found.words, found.vectors.tolist()]


def vocabulary(path):
    """Words and their counts."""
    found = Vocabulary.load(path)
    return [found.words, found.counts]


def corrections(path):
    """The documents of a store of feedback, and the queue of their reviewers."""
    with FeedbackStore(path, create=False) as store:
        waiting = [(astuple(one.document), astuple(one.suggestion)) for one in store.queue("all")]
    return [waiting, [astuple(one) for one in read_corrections(path)]]


def dataset(loader, folder, **options):
    """All documents and labels of a published data set."""
    found = loader(folder, check=False, **options)
    return [list(found.taxonomy.names), [[split, astuple(one)] for split, one in found.documents()]]


def command(path):
    """Run a command line in the folder of the file that holds its words; errors are one line, and the code is 2."""
    os.chdir(path.parent)
    said = {}
    for number, name in ((1, "stdout"), (2, "stderr")):
        said[name] = Path(f"../said-{name}").resolve()
        _reopen(number, said[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    _reopen(0, os.devnull, os.O_RDONLY)
    words = json.loads(path.read_text(encoding="utf-8"))
    code = 0
    try:
        main_command(words)
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    message = said["stderr"].read_text(encoding="utf-8", errors="replace")
    if code == 2 and "Traceback" not in message and message.strip():
        raise TaxoCapsError(message.strip().splitlines()[-1])
    if code not in (0, 1) or "Traceback" in message:
        raise RuntimeError(f"code {code}: {message}")
    return code


TRY = {
    "command": command,
    "model": label,
    "store": read,
    "documents": documents,
    "documents-counted": count,
    "taxonomy": taxonomy,
    "vectors": vectors,
    "vocabulary": vocabulary,
    "feedback": corrections,
    "eurlex": partial(dataset, eurlex.load),
    "rcv1": partial(dataset, rcv1.load),
    "reuters": partial(dataset, reuters21578.load),
}


def attempt(kind, path, options):
    """What becomes of a file or folder, in this process."""
    try:
        answer = json.dumps(TRY[kind](Path(path), **options), default=str)
        return {"outcome": "answer", "message": hashlib.sha256(answer.encode()).hexdigest()}
    except TaxoCapsError as error:
        message = str(error)
        is_short = message.isprintable() and len(message) <= 2_000
        return {"outcome": "refused" if is_short else "lost", "message": message[:2_000]}
    except MemoryError:
        return {"outcome": "refused", "message": "not enough memory"}  # the command line says so in one line
    except BaseException:
        return {"outcome": "lost", "message": traceback.format_exc()[-3_000:]}


def guarded(attempts, seconds, memory):
    """Make attempts in children that may crash, hang, or ask for any amount of memory; yields what becomes of each.

    A child that ends before its time has done so over the attempt that is due; another one goes on behind it.
    """
    attempts = list(attempts)
    while attempts:
        done = 0
        for found in _child(attempts[:BATCH], seconds, memory):
            done += 1
            yield found
        attempts = attempts[done:]


def _child(attempts, seconds, memory):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _limit(memory)
        for one in attempts:
            signal.setitimer(signal.ITIMER_PROF, seconds)  # signals that end the process
            signal.setitimer(signal.ITIMER_REAL, WAITING * seconds)
            os.write(writing, json.dumps(one()).encode() + b"\n")
        os._exit(0)
    os.close(writing)
    done = 0
    with os.fdopen(reading, "rb") as file:
        for line in file:
            done += 1
            yield json.loads(line)
    _, status = os.waitpid(child, 0)
    if done < len(attempts):
        yield _ended(status, seconds)


def _ended(status, seconds):
    """What became of the attempt over which a child has ended."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
        return {"outcome": "hung", "message": f"more than {seconds} s"}
    if os.WIFSIGNALED(status):
        return {"outcome": "crashed", "message": signal.Signals(os.WTERMSIG(status)).name}
    return {"outcome": "lost", "message": f"ended with {status} and no word"}


def _limit(memory):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _reopen(2, os.devnull, os.O_WRONLY)


def _reopen(number, path, flags):
    opened = os.open(path, flags)
    os.dup2(opened, number)
    os.close(opened)


def mutated(request, number):
    """What becomes of a mutation."""
    names = list(request["originals"])
    kind, original = request["originals"][names[number % len(names)]]
    mutate = getattr(mutations, request["mutate"])
    try:
        _, mutant = mutate(Path(original), Path(request["place"]), request["seed"], number)
    except Exception:
        return {"outcome": "lost", "message": f"the mutation itself failed: {traceback.format_exc()[-2_000:]}"}
    return attempt(kind, mutant, {})


def attempts_of(request):
    """The attempts that a line asks for."""
    if "numbers" in request:
        return [partial(mutated, request, number) for number in range(*request["numbers"])]
    return [partial(attempt, request["kind"], request["path"], request.get("options", {}))]


def main():
    """Try what is unchanged once, so that children find everything loaded; then serve."""
    for request in map(json.loads, sys.stdin):
        kind = request.get("kind")
        if request.get("warm") and kind == "command":
            for name in ("corpus", "encode", "evaluate", "explain", "graph", "predict", "taxonomy"):
                importlib.import_module(f"taxocaps.workflows.{name}")
        if request.get("warm") and kind != "command":  # which closes what this process prints to
            results = [one() for one in attempts_of(request)]
        else:
            results = guarded(attempts_of(request), request.get("seconds", SECONDS), request.get("memory", MEMORY))
        for found in results:
            print(json.dumps(found), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
