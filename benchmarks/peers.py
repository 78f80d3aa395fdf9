"""Other programs on the same documents, each in an environment of its own: quality, time, throughput, memory.

    python benchmarks/peers.py --list                       # what there is, and what is missing
    python benchmarks/peers.py --data build/reuters         # all that are missing
    python benchmarks/peers.py --only omikuji --again

The scripts and pinned requirements are in benchmarks/peers/. Environments are made below build/peers/ when they are
first needed. Each program runs in a process of its own with one thread, and leaves a matrix of scores or labels; the
metrics are computed here, by the same code for all. A program that cannot be installed, fails or takes more than 40 CPU
minutes is recorded with the reason. Results are in benchmarks/results/peers.jsonl, one line a run; `python
benchmarks/render.py` makes tables of them.
"""

import argparse
import hashlib
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from taxocaps.corpus.labels import Classes, label_matrix
from taxocaps.corpus.readers import read_documents
from taxocaps.metrics.evaluation import Evaluation, evaluate
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.taxonomy.readers import read_taxonomy

__all__ = ["PEERS", "Peer", "metrics", "read_peers"]

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "peers"
ENVIRONMENTS = ROOT / "build" / "peers"
RESULTS = Path(__file__).parent / "results" / "peers.jsonl"
MOST_CPU_MINUTES = 40
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")}


@dataclass(frozen=True)
class Peer:
    """A program.

    Attributes:
        name: As it stands in the table.
        environment: The name of its requirements and of its environment.
        script: The file in benchmarks/peers/.
        arguments: What the script is given besides folder and output.
    """

    name: str
    environment: str
    script: str
    arguments: tuple[str, ...] = ()


PEERS = (
    Peer("scikit-learn, words", "scikit-learn", "run_scikit_learn.py", ("words",)),
    Peer("scikit-learn, words and characters", "scikit-learn", "run_scikit_learn.py", ("characters",)),
    Peer("LibMultiLabel 1vsrest", "libmultilabel", "run_libmultilabel.py", ("1vsrest",)),
    Peer("LibMultiLabel thresholding", "libmultilabel", "run_libmultilabel.py", ("thresholding",)),
    Peer("HiClass per node", "hiclass", "run_hiclass.py", ("node",)),
    Peer("HiClass per parent", "hiclass", "run_hiclass.py", ("parent",)),
    Peer("omikuji", "omikuji", "run_omikuji.py"),
    Peer("napkinXC PLT", "napkinxc", "run_napkinxc.py"),
    Peer("fastText", "fasttext", "run_fasttext.py"),
    Peer("Annif MLLM", "annif", "run_annif.py", ("mllm",)),
    Peer("Annif omikuji", "annif", "run_annif.py", ("omikuji",)),
    Peer("Annif ensemble", "annif", "run_annif.py", ("ensemble",)),
)


def metrics(folder: Path, found: Path, kind: str) -> Evaluation:
    """The metrics of test documents; the threshold is the one with the best micro-F1 on documents not learned from.

    Args:
        folder: The documents.
        found: An npz file: `names`, and `test` and `held_out` of [documents, names]; what is held out are the dev
            documents, or all training documents if there are none.
        kind: What the matrices are: `margins`, `scores` from 0 to 1, or `labels`.
    """
    taxonomy = read_taxonomy(folder / "taxonomy.tsv")
    parts = [name for name in ("train", "dev", "test") if (folder / f"{name}.jsonl").exists()]
    lists = {name: [d.labels or () for d in read_documents(folder / f"{name}.jsonl")] for name in parts}
    learned = set().union(*lists["train"], *lists.get("dev", ()))
    classes = Classes(tuple(name for name in taxonomy.names if name != taxonomy.root), taxonomy)
    with np.load(found) as file:
        indices = {name: index for index, name in enumerate(file["names"].tolist())}
        order = [indices[name] for name in classes.names]
        scores = {name: _probabilities(file[name][:, order], kind) for name in file.files if name != "names"}
    threshold = 0.5
    if kind != "labels":
        held_out = label_matrix(lists.get("dev", lists["train"]), classes.names)
        threshold = best_threshold(held_out, scores["held_out"]).threshold
    return evaluate(
        label_matrix(lists["test"], classes.names),
        csr_array(scores["test"] >= threshold),
        names=classes.names,
        closure=classes.full_closure,
        scores=None if kind == "labels" else scores["test"],
        averaged=np.array([name in learned for name in classes.names]),
    )


def _probabilities(matrix: np.ndarray, kind: str) -> np.ndarray:
    return expit(matrix) if kind == "margins" else np.clip(matrix, 0, 1)


def measure(peer: Peer, folder: Path) -> dict[str, Any]:
    """Run a program, and tell what it cost and how good it is, or why there is nothing to tell."""
    begin = {"key": _key(peer, folder), "peer": peer.name, "data": folder.name, "documents": _hashes(folder)}
    begin |= {"machine": f"{platform.machine()}, Python {platform.python_version()}", "load": os.getloadavg()[0]}
    try:
        python = _environment(peer.environment)
        with tempfile.TemporaryDirectory() as temporary:
            out = Path(temporary) / "found"
            command = [python, SCRIPTS / peer.script, folder, out, *peer.arguments]
            _run(command, env=os.environ | ONE_THREAD, preexec_fn=_limit)
            report = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
            found = metrics(folder, out.with_suffix(".npz"), report["kind"])
    except (subprocess.SubprocessError, OSError) as error:
        return {**begin, "failed": _reason(error)}
    return {**begin, **report, "test": _short(found)}


def _limit() -> None:
    seconds = 60 * MOST_CPU_MINUTES
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 60))


def _key(peer: Peer, folder: Path) -> str:
    return f"{folder.name}: {peer.name}"


def _hashes(folder: Path) -> dict[str, str]:
    files = [folder / f"{name}.jsonl" for name in ("train", "dev", "test")]
    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files if path.exists()}


def _environment(name: str) -> Path:
    """The Python of an environment, which is made if it is not there."""
    home = ENVIRONMENTS / name
    ready, wanted = home / "ready.txt", SCRIPTS / f"{name}.txt"
    if not ready.exists() or ready.read_bytes() != wanted.read_bytes():
        _run([sys.executable, "-m", "venv", home])
        pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "-r", wanted])
        ready.write_bytes(wanted.read_bytes())
    return home / "bin" / "python"


def _run(command: Sequence[Any], **options: Any) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **options)


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError) and error.returncode == -signal.SIGXCPU:
        return f"it takes more than {MOST_CPU_MINUTES} CPU minutes"
    said = getattr(error, "stderr", None) or str(error)
    said = said.decode() if isinstance(said, bytes) else said
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("WARNING")]
    return (lines or [type(error).__name__])[-1][:300]


def _short(found: Evaluation) -> dict[str, Any]:
    plain = found.as_dict()
    return {key: value for key, value in plain.items() if key not in ("label_rows", "level_rows", "unseen", "added")}


def read_peers() -> dict[str, dict[str, Any]]:
    """The newest result of each program and data set."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return {result["key"]: result for result in map(json.loads, lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", default=[ROOT / "build" / "reuters"], metavar="FOLDER")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="programs whose names begin so")
    parser.add_argument("--again", action="store_true", help="also what is done already")
    parser.add_argument("--list", action="store_true", help="run nothing; show what there is and what is missing")
    options = parser.parse_args()
    wanted = tuple(name.lower() for name in options.only or ("",))
    chosen = [peer for peer in PEERS if peer.name.lower().startswith(wanted)]
    for folder in options.data:
        for peer in chosen:
            known = read_peers().get(_key(peer, folder))
            if options.list:
                print(f"{_key(peer, folder)}: {_state(known)}")
            elif known is None or options.again:
                _add(measure(peer, folder.resolve()))


def _state(known: dict[str, Any] | None) -> str:
    if known is None:
        return "missing"
    if "failed" in known:
        return f"failed: {known['failed']}"
    f1 = known["test"]["flat"]
    scores = f"micro {f1['micro']['f1']:.4f}, macro {f1['macro']['f1']:.4f}"
    return f"done, {known['train']['cpu_seconds']:.0f} CPU s, {scores}"


def _add(result: dict[str, Any]) -> None:
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    print(f"{result['key']}: {_state(result)}", flush=True)


if __name__ == "__main__":
    main()
