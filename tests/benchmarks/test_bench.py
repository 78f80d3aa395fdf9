"""The comparison of speeds with those on file."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from bench import Figure, slower_rows
before = {name: Figure(name, 3.0, 1.0, "json") for name in ("same", "noisy", "slow")}
now = [Figure("same", 30.0, 10.0, "json"), Figure("noisy", 3.5, 1.0, "json"), Figure("slow", 3.7, 1.0, "json")]
print(*slower_rows([*now, Figure("new", 99.0, 1.0, "json")], before), sep="\\n")
"""


@pytest.mark.slow
def test_rows_that_are_slower_beside_their_limits_are_named_whatever_the_machine():
    ended = subprocess.run([sys.executable, "-c", CODE, FOLDER], capture_output=True, text=True, check=True)
    assert ended.stdout == "slow: 3.70 times its limit, 23% more than on file\n"
