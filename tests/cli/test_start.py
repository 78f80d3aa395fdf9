"""Commands start fast: what a command does not need is not loaded."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "scipy", "torch", "sklearn", "rich", "networkx", "numba", "pyarrow")

COMMANDS = {
    "version": (["--version"], HEAVY),
    "predict with a wrong path": (["predict", "NOWHERE", "--text", "x"], HEAVY),
    "explain with a wrong path": (["explain", "NOWHERE", "--text", "x"], HEAVY),
    "evaluate with a wrong path": (["evaluate", "NOWHERE", "x.jsonl"], HEAVY),
}


@pytest.mark.parametrize(("arguments", "unneeded"), COMMANDS.values(), ids=COMMANDS)
def test_what_is_not_needed_is_not_loaded(tmp_path, arguments, unneeded):
    code = (
        "import sys\nfrom taxocaps.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {unneeded!r} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout.splitlines()[-1] == "[]"
