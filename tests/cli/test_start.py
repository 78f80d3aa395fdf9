"""Commands start fast, since what a command does not need is not loaded, and can be stopped while they start."""

import signal
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


@pytest.mark.parametrize("module", ["typer", "taxocaps.cli.train", "taxocaps.cli.main", "numpy", "scipy"])
def test_ctrl_c_while_libraries_are_loaded_ends_without_a_traceback(tmp_path, module):
    code = "from taxocaps.__main__ import main; main()"
    command = [sys.executable, "-X", "importtime", "-c", code, "graph", "Cats purr."]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    for line in started.stderr:
        if line.rpartition("|")[2].strip() == module:
            started.send_signal(signal.SIGINT)
            break
    _, told = started.communicate(timeout=60)
    assert started.returncode == 130
    assert all(line.startswith("import time:") for line in told.splitlines())


def test_ctrl_c_in_a_callback_is_not_lost():
    code = (
        "import sys; sys.argv[1:] = ['--version']\n"
        "from taxocaps.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "class Last:\n    def __del__(self):\n        raise KeyboardInterrupt\n"
        "Last()\nprint('went on')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")
    assert "went on" not in ended.stdout
