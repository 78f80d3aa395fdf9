"""What `import taxocaps` costs, and what it gives."""

import subprocess
import sys
from pathlib import Path

import pytest

import taxocaps

HEAVY = (
    "torch",
    "lightning",
    "numba",
    "gensim",
    "sklearn",
    "networkx",
    "rich",
    "scipy",
    "simplemma",
    "pydantic",
    "jinja2",
)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_is_light():
    loaded = run(f"import sys, taxocaps; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


@pytest.mark.parametrize(
    ("begin", "policy"), [("", "PASSIVE"), ("os.environ['OMP_WAIT_POLICY'] = 'ACTIVE'; ", "ACTIVE")]
)
def test_waiting_threads_leave_the_cores_to_others_unless_told_otherwise(begin, policy):
    code = f"import os; os.environ.pop('OMP_WAIT_POLICY', None); {begin}import taxocaps; "
    assert run(code + "print(os.environ['OMP_WAIT_POLICY'])").strip() == policy


def test_importing_is_quick():
    # CPU seconds beyond those of the interpreter itself; the best of three, for machines are busy.
    code = "import time; begin = time.process_time(); import taxocaps; print(time.process_time() - begin)"
    assert min(float(run(code)) for _ in range(3)) < 0.3


def test_help_is_quick():
    code = (
        "import resource, subprocess, sys; "
        "subprocess.run([sys.executable, '-m', 'taxocaps', '--help'], stdout=subprocess.DEVNULL, check=True); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"
    )
    assert min(float(run(code)) for _ in range(3)) < 0.8


def test_public_names():
    assert "__version__" in taxocaps.__all__
    for name in taxocaps.__all__:
        assert getattr(taxocaps, name) is not None
    assert set(taxocaps.__all__) <= set(dir(taxocaps))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = taxocaps.nonsense


def test_no_package_hides_a_public_name():
    packages = [path.name.removesuffix(".py") for path in Path(taxocaps.__file__).parent.iterdir()]
    assert not set(taxocaps.__all__) & set(packages)
