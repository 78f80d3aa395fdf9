"""Kill bulk work at random moments, again and again: nothing may be lost, doubled or different.

    python benchmarks/kills.py build/svm                       # 50 kills of five kinds
    python benchmarks/kills.py build/svm --kills 5 --documents 2000     # a short form, one of each kind
    python benchmarks/kills.py build/svm --victims driver worker        # without Ray

`taxocaps predict` labels documents without ids, in small shards, into a file. Each time a process is killed (SIGKILL)
at a random moment after the next shard is recorded: the driver or a worker of two processes; the driver, an actor or a
whole node of a Ray cluster of three nodes. The same command is then given again, or goes on by itself where it can. At
the end of each file its bytes are compared with those of a run that nobody has killed.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scale import processes_below, write_corpus
from tables import Table

COMMAND = """
import sys
from taxocaps.corpus import shards
shards.SHARD_BYTES = 20_000
from taxocaps.cli.main import main
if __name__ == "__main__":
    main(sys.argv[1:])
"""
VICTIMS = ("driver", "worker", "ray driver", "ray actor", "ray node")
KILLS_A_FILE = 4
LONGEST = 600.0


@dataclass
class Campaign:
    """Files that are made while processes are killed.

    Attributes:
        folder: Where everything is.
        model: The folder of a model.
        cluster: The Ray cluster, if one is needed.
        moments: When to kill.
        kills: Kills of each kind that hit.
        missed: Commands that had ended before.
        files: Files that were finished.
        different: Those whose bytes were others.
    """

    folder: Path
    model: Path
    cluster: Any
    moments: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    files: int = 0
    different: int = 0

    def start(self, output: Path, is_ray: bool) -> subprocess.Popen[str]:
        """Give the command."""
        engine = ["--engine", "ray", "--address", self.cluster.address] if is_ray else ["--jobs", "2"]
        arguments = ["predict", self.model, self.folder / "all.jsonl", "--output", output, "--quiet", *engine]
        command = [sys.executable, self.folder / "command.py", *map(str, arguments)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def make(self, victims: list[str]) -> None:
        """Make a file with some kills; then compare it."""
        output = self.folder / "killed.jsonl"
        for victim in victims:
            self._kill(victim, output)
        is_ray = victims[-1].startswith("ray")
        process = self.start(output, is_ray)
        _, errors = process.communicate(timeout=LONGEST)
        if process.returncode:
            raise SystemExit(f"the command failed after {victims}: {errors}")
        self.files += 1
        self.different += output.read_bytes() != (self.folder / "whole.jsonl").read_bytes()
        output.unlink()

    def _kill(self, victim: str, output: Path) -> None:
        process = self.start(output, victim.startswith("ray"))
        deadline, before = time.monotonic() + LONGEST, len(_records(output))
        while len(_records(output)) <= before and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(self.moments.uniform(0, 1.5))
        if process.poll() is None and self._strike(victim, process.pid):
            self.kills[victim] += 1
        else:
            self.missed += 1
        process.communicate(timeout=LONGEST)
        if output.exists():  # it was finished, before the kill or in spite of it
            self.files += 1
            self.different += output.read_bytes() != (self.folder / "whole.jsonl").read_bytes()
            output.unlink()

    def _strike(self, victim: str, pid: int) -> bool:
        if victim == "ray node":
            return self._strike_node()
        found = {
            "driver": lambda: [pid],
            "ray driver": lambda: [pid],
            "worker": lambda: _named(b"popen_loky", processes_below(pid)),
            "ray actor": lambda: _named(b"ray::_Worker", processes_below(os.getpid())),
        }[victim]()
        if not found:
            return False
        os.kill(self.moments.choice(found), signal.SIGKILL)
        return True

    def _strike_node(self) -> bool:
        nodes = [node for node in self.cluster.list_all_nodes() if node is not self.cluster.head_node]
        self.cluster.remove_node(self.moments.choice(nodes), allow_graceful=False)
        patiently(lambda: self.cluster.add_node(num_cpus=1))
        return True


def _records(output: Path) -> list[Path]:
    return list((output.parent / f".{output.name}.partial").glob("[0-9]*.json"))


def _named(name: bytes, pids: list[int]) -> list[int]:
    found = []
    for pid in pids:
        try:
            if name in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


def patiently(start: Callable[[], Any]) -> Any:
    """Try a start of Ray three times: it waits half a minute for a node, too short on a busy machine."""
    for _ in range(2):
        try:
            return start()
        except Exception as error:
            print(f"again: {error}", file=sys.stderr, flush=True)
    return start()


@contextmanager
def cluster_of_three() -> Iterator[Any]:
    """A Ray cluster of three nodes on this machine, whose actors run on the two that may die."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "include_dashboard": False}
    cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    try:
        for _ in range(2):
            patiently(lambda: cluster.add_node(num_cpus=1))
        yield cluster
    finally:
        cluster.shutdown()


@contextmanager
def no_cluster() -> Iterator[None]:
    """For victims without Ray."""
    yield None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the folder of a trained model")
    parser.add_argument("--data", type=Path, default=Path("build/reuters"), help="a folder with train.jsonl")
    parser.add_argument("--kills", type=int, default=50, help="kills in all (default: 50)")
    parser.add_argument("--documents", type=int, default=6_000, help="documents of a file (default: 6,000)")
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=VICTIMS, help="what is killed (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the moments (default: 0)")
    options = parser.parse_args()
    needs_ray = any(victim.startswith("ray") for victim in options.victims)
    with tempfile.TemporaryDirectory() as name, cluster_of_three() if needs_ray else no_cluster() as cluster:
        campaign = Campaign(Path(name), options.model.resolve(), cluster, random.Random(options.seed))
        write_corpus(campaign.folder / "all.jsonl", options.data / "train.jsonl", options.documents, named=False)
        (campaign.folder / "command.py").write_text(COMMAND)
        whole = campaign.start(campaign.folder / "whole.jsonl", is_ray=False)
        if whole.wait():
            raise SystemExit(f"the command fails without a kill: {whole.stderr.read() if whole.stderr else ''}")
        turn = 0
        while campaign.kills.total() < options.kills:
            some = [options.victims[(turn + one) % len(options.victims)] for one in range(KILLS_A_FILE)]
            turn += KILLS_A_FILE
            campaign.make(some[: options.kills - campaign.kills.total()])
            print(f"{campaign.kills.total()} kills, {campaign.files} files", file=sys.stderr, flush=True)
    rows = [(victim, str(campaign.kills[victim])) for victim in options.victims]
    note = f"{campaign.files} files were finished after these kills, {campaign.different} of them with other bytes."
    print(Table("Kills", ("killed", "times"), rows, note).markdown())
    sys.exit(1 if campaign.different else 0)


if __name__ == "__main__":
    main()
