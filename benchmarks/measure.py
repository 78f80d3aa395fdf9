"""Measure a piece of work: its CPU seconds and, in a process of its own, its peak memory."""

import multiprocessing
import os
import re
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Cost", "cpu_seconds", "in_own_process", "process_seconds", "timed"]


@dataclass(frozen=True)
class Cost:
    """What a piece of work cost."""

    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float
    result: Any


def in_own_process(work: Callable[..., Any], *arguments: Any) -> Cost:
    """Run `work` in a fresh interpreter; the peak is that of the whole process, libraries included."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_run, (work, arguments))


def _run(work: Callable[..., Any], arguments: tuple[Any, ...]) -> Cost:
    cpu, wall = time.process_time(), time.perf_counter()
    result = work(*arguments)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Cost(cpu, wall, _peak_megabytes(), result)


def _peak_megabytes() -> float:
    # Not getrusage: its peak survives fork and exec, and would be that of the process that started this one.
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """The CPU seconds of `work`, and its result."""
    began = time.process_time()
    result = work(*arguments)
    return time.process_time() - began, result


def cpu_seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """CPU seconds of `work`, the best of some tries, for machines are noisy."""
    return min(timed(work)[0] for _ in range(repeats))


def process_seconds(command: Sequence[str | Path], environment: Mapping[str, str]) -> float:
    """CPU seconds of a whole process, user and system; what it prints is thrown away."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime
