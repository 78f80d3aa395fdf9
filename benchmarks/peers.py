"""Other programs on the same documents, each in an environment of its own: quality, time, throughput, memory.

    python benchmarks/peers.py --list                       # what there is, and what is missing
    python benchmarks/peers.py --data build/reuters         # all that are missing
    python benchmarks/peers.py --only omikuji --again
    python benchmarks/peers.py --table                      # run nothing; print the results

The scripts and pinned requirements are in benchmarks/peers/. Environments are made below build/peers/ when they are
first needed. Each program runs in a process of its own with one thread, and leaves a matrix of scores or labels; the
metrics are computed here, by the same code for all. A program that cannot be installed or fails is recorded with the
reason. Results are in benchmarks/results/peers.jsonl, one line a run.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from grid import read_results
from tables import Table
from taxocaps.corpus.labels import Classes, collect_classes, count_unseen, label_matrix
from taxocaps.corpus.readers import read_documents
from taxocaps.metrics.evaluation import Evaluation, evaluate
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.taxonomy.readers import read_taxonomy

__all__ = ["PEERS", "Peer", "metrics", "peers_table"]

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "peers"
ENVIRONMENTS = ROOT / "build" / "peers"
RESULTS = Path(__file__).parent / "results" / "peers.jsonl"
MOST_SECONDS = 3_600
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")}
HEADER = (
    *("data", "program", "micro", "macro", "samples", "hierarchical", "P@1", "P@5"),
    *("training, CPU s", "documents / CPU s", "peak memory"),
)
STORED = ("HE-AGCRCNN",)
"""Models that take too long to be run here; their results in runs.jsonl stand beside the others, marked."""


@dataclass(frozen=True)
class Peer:
    """A program.

    Attributes:
        name: As it stands in the table.
        environment: The name of its requirements and of its environment; none for the project's own.
        script: The file in benchmarks/peers/.
        arguments: What the script is given besides folder and output.
    """

    name: str
    environment: str | None
    script: str
    arguments: tuple[str, ...] = ()


PEERS = (
    Peer("taxocaps SVM", None, "run_taxocaps.py", ("SVM",)),
    Peer("taxocaps HR-SVM", None, "run_taxocaps.py", ("HR-SVM",)),
    Peer("scikit-learn one-against-the-rest", "scikit-learn", "run_scikit_learn.py"),
    Peer("LibMultiLabel 1vsrest", "libmultilabel", "run_libmultilabel.py", ("1vsrest",)),
    Peer("LibMultiLabel thresholding", "libmultilabel", "run_libmultilabel.py", ("thresholding",)),
    Peer("HiClass per node", "hiclass", "run_hiclass.py", ("node",)),
    Peer("HiClass per parent", "hiclass", "run_hiclass.py", ("parent",)),
    Peer("omikuji", "omikuji", "run_omikuji.py"),
    Peer("napkinXC PLT", "napkinxc", "run_napkinxc.py"),
)


def peers_table(data: str | None = None) -> Table:
    """All results, or those of one data set such as `reuters`."""
    found = sorted(_results().values(), key=_order)
    rows = [_row(result) for result in found if data in (None, result["data"]) and "failed" not in result]
    rows += [row for name in dict.fromkeys(row[0] for row in rows) for row in _stored_rows(name)]
    rows.sort(key=lambda row: row[0] != "reuters")
    failed = [
        f"{result['peer']} on {result['data']} failed: {result['failed']}."
        for result in found
        if "failed" in result and data in (None, result["data"])
    ]
    return Table("Other programs on the same documents", HEADER, rows, " ".join([_NOTE, *failed]))


_NOTE = (
    "Rendered from `python benchmarks/peers.py`. All on one thread of a machine that was busy with other work, so "
    "times are CPU times. Training and prediction begin with texts; scores become labels by one threshold, the one "
    "with the best micro-F1 on dev documents, and no ancestors are added. All but taxocaps get the same TF-IDF "
    "features and have their own default options. LibMultiLabel has those of its example for RCV1: with its defaults "
    "it had 0.862 and 0.437 on Reuters, test documents, before it got this second try, which no other program had. "
    "HiClass gives one path a document and no scores, over liblinear's logistic regression (per node) and LinearSVC "
    "(per parent): a training document is given once for each of its most specific labels. omikuji "
    "and napkinXC score ten labels a document. Training of taxocaps includes calibration and the metrics on dev "
    "documents. Peak memory is that of the whole process."
)


def metrics(folder: Path, found: Path, kind: str) -> dict[str, Evaluation]:
    """The metrics of dev and test documents.

    Args:
        folder: The documents.
        found: An npz file: `names`, and `dev` and `test` of [documents, names].
        kind: What the matrices are: `margins`, `scores` from 0 to 1, or `labels`.
    """
    taxonomy = read_taxonomy(folder / "taxonomy.tsv")
    lists = {name: [d.labels for d in read_documents(folder / f"{name}.jsonl")] for name in ("train", "dev", "test")}
    classes = Classes(collect_classes(lists["train"], taxonomy), taxonomy)
    with np.load(found) as file:
        indices = {name: index for index, name in enumerate(file["names"].tolist())}
        order = [indices[name] for name in classes.names]
        scores = {name: _probabilities(file[name][:, order], kind) for name in ("dev", "test")}
    truth = {name: label_matrix(lists[name], classes.names) for name in scores}
    threshold = 0.5 if kind == "labels" else best_threshold(truth["dev"], scores["dev"]).threshold
    return {
        name: evaluate(
            truth[name],
            csr_array(scores[name] >= threshold),
            names=classes.names,
            closure=classes.full_closure,
            scores=None if kind == "labels" else scores[name],
            unseen=count_unseen(lists[name], classes.names),
        )
        for name in scores
    }


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
            _run(command, env=os.environ | ONE_THREAD)
            report = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
            found = metrics(folder, out.with_suffix(".npz"), report["kind"])
    except (subprocess.SubprocessError, OSError) as error:
        return {**begin, "failed": _reason(error)}
    return {**begin, **report, **{name: _short(evaluation) for name, evaluation in found.items()}}


def _key(peer: Peer, folder: Path) -> str:
    return f"{folder.name}: {peer.name}"


def _hashes(folder: Path) -> dict[str, str]:
    files = [folder / f"{name}.jsonl" for name in ("train", "dev", "test")]
    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files}


def _environment(name: str | None) -> Path:
    """The Python of an environment, which is made if it is not there."""
    if name is None:
        return Path(sys.executable)
    home = ENVIRONMENTS / name
    ready, wanted = home / "ready.txt", SCRIPTS / f"{name}.txt"
    if not ready.exists() or ready.read_bytes() != wanted.read_bytes():
        _run(["python3", "-m", "venv", home])
        pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # The constraints keep pip from a torch with gigabytes of CUDA, should a program want torch.
        _run([*pip, "-c", ROOT / "constraints.txt", "-r", wanted])
        ready.write_bytes(wanted.read_bytes())
    return home / "bin" / "python"


def _run(command: Sequence[Any], **options: Any) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=MOST_SECONDS, **options)


def _reason(error: Exception) -> str:
    said = getattr(error, "stderr", None) or str(error)
    said = said.decode() if isinstance(said, bytes) else said
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("WARNING")]
    return (lines or [type(error).__name__])[-1][:300]


def _short(found: Evaluation) -> dict[str, Any]:
    plain = found.as_dict()
    return {key: plain[key] for key in ("documents", "labels", "flat", "hierarchical", "ranking")}


def _results() -> dict[str, dict[str, Any]]:
    """The newest result of each program and data set."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return {result["key"]: result for result in map(json.loads, lines)}


def _order(result: dict[str, Any]) -> tuple[str, int]:
    names = [peer.name for peer in PEERS]
    return result["data"], names.index(result["peer"]) if result["peer"] in names else len(names)


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    rate = result["test"]["documents"] / result["predict"]["cpu_seconds"]
    costs = (f"{result['train']['cpu_seconds']:,.1f}", f"{rate:,.0f}", f"{result['peak_megabytes']:,.0f} MB")
    return (result["data"], result["peer"], *_quality(result["test"]), *costs)


def _stored_rows(data: str) -> Iterator[tuple[str, ...]]:
    for key, result in read_results().items():
        if result["data"] == data and result["model"] in STORED and key.endswith("-default-0"):
            costs = (f"{result['cpu_seconds']:,.1f}", "", f"{result['peak_megabytes']:,.0f} MB")
            yield (data, f"taxocaps {result['model']} (another run)", *_quality(result["test"]), *costs)


def _quality(test: dict[str, Any]) -> list[str]:
    values = [*(test["flat"][kind]["f1"] for kind in ("micro", "macro", "samples")), test["hierarchical"]["f1"]]
    precision = test["ranking"]["precision"] if test["ranking"] else {}
    return [f"{value:.3f}" if value is not None else "" for value in (*values, precision.get("1"), precision.get("5"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", default=[ROOT / "build" / "reuters"], metavar="FOLDER")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="programs whose names begin so")
    parser.add_argument("--again", action="store_true", help="also what is done already")
    parser.add_argument("--list", action="store_true", help="run nothing; show what there is and what is missing")
    parser.add_argument("--table", action="store_true", help="run nothing; print the results")
    options = parser.parse_args()
    wanted = tuple(name.lower() for name in options.only or ("",))
    chosen = [peer for peer in PEERS if peer.name.lower().startswith(wanted)]
    for folder in () if options.table else options.data:
        for peer in chosen:
            known = _results().get(_key(peer, folder))
            if options.list:
                print(f"{_key(peer, folder)}: {_state(known)}")
            elif known is None or options.again:
                _add(measure(peer, folder.resolve()))
    if not options.list:
        print(peers_table().markdown())


def _state(known: dict[str, Any] | None) -> str:
    if known is None:
        return "missing"
    return f"failed: {known['failed']}" if "failed" in known else f"done, {known['train']['cpu_seconds']:.0f} CPU s"


def _add(result: dict[str, Any]) -> None:
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    print(f"{result['key']}: {_state(result)}", flush=True)


if __name__ == "__main__":
    main()
