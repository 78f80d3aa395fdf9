"""Kernels: what they give, where they are kept, and when they are used."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from taxocaps import compiled
from taxocaps.compiled import expect_much_work, kernel, pays
from taxocaps.splitmix import mixed, random_below

SOURCE = """
from taxocaps.compiled import kernel

@kernel
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result
"""
RUN = """
import sys, numpy as np
from toy_kernels import total
kinds = [np.float32, np.int32][:: int(sys.argv[1])]
assert [total(np.arange(10, dtype=kind)) for kind in kinds] == [45.0] * 2
print(sum(total._cache_misses.values()))
"""


@kernel
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result


def test_a_kernel_is_compiled_and_gives_what_python_gives():
    values = np.arange(10.0)
    assert total(values) == total.py_func(values) == 45.0
    assert total.nopython_signatures
    assert total.targetoptions["nogil"]


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "toy_kernels.py").write_text(SOURCE)
    return folder


def start(package, order=1, **variables):
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **{name: str(value) for name, value in variables.items()}}
    environment = {name: value for name, value in environment.items() if value}
    command = [sys.executable, "-c", RUN, str(order)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def compilations(process):
    printed, _ = process.communicate()
    assert process.returncode == 0
    return int(printed)


@pytest.mark.slow
def test_processes_that_compile_at_once_leave_code_that_a_later_one_only_loads(package, tmp_path):
    several = [start(package, order, NUMBA_CACHE_DIR=tmp_path / "cache") for order in (1, -1)]
    assert all(compilations(process) >= 0 for process in several)
    assert compilations(start(package, NUMBA_CACHE_DIR=tmp_path / "cache")) == 0
    assert len(list((tmp_path / "cache").rglob("*"))) == 3  # the folder of the package, and a file for each kind


@pytest.mark.slow
def test_code_of_a_read_only_folder_is_loaded_and_damaged_code_is_compiled_again(package, tmp_path):
    own = package / "__pycache__"
    compilations(start(package, NUMBA_CACHE_DIR="", XDG_CACHE_HOME=tmp_path))
    damaged, *_ = files = sorted(own.glob("toy_kernels.total-*.nbc"))
    damaged.write_bytes(damaged.read_bytes()[:-100])
    # A file stands where the folder of the user would be: there is no place to write to, even for root.
    (tmp_path / "file").touch()
    for folder in (own, package):
        folder.chmod(0o500)
    assert compilations(start(package, NUMBA_CACHE_DIR="", XDG_CACHE_HOME=tmp_path / "file")) == 1
    assert len(files) == 2


@pytest.mark.slow
def test_without_a_place_to_keep_them_kernels_are_compiled_each_time(package, tmp_path):
    (package / "__pycache__").touch()
    (tmp_path / "file").touch()
    nowhere = {"NUMBA_CACHE_DIR": tmp_path / "file", "XDG_CACHE_HOME": tmp_path / "file"}
    assert compilations(start(package, PYTHONDONTWRITEBYTECODE="1", **nowhere)) == 2


@pytest.mark.slow
def test_code_of_another_source_is_not_loaded(package, tmp_path):
    places = {"NUMBA_CACHE_DIR": tmp_path / "cache"}
    compilations(start(package, **places))
    (package / "toy_kernels.py").write_text(SOURCE.replace("0.0", "0.0 + 0.0"))
    assert compilations(start(package, **places)) == 2


@pytest.fixture
def account(monkeypatch):
    fresh = type(compiled._saved)(float)
    monkeypatch.setattr(compiled, "_saved", fresh)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    return fresh


def test_a_kernel_on_disk_pays_when_kernels_would_have_saved_the_time_to_load_numba(account, monkeypatch):
    monkeypatch.setattr(compiled, "_is_on_disk", lambda name: name != "new")
    assert [pays("one", 0.3), pays("other", 0.3), pays("other", 0.3), pays("new", 0.3)] == [False, False, True, False]


def test_a_kernel_that_has_to_be_compiled_pays_when_it_would_have_saved_the_time_of_that(account, monkeypatch):
    monkeypatch.setattr(compiled, "_is_on_disk", lambda _: False)
    assert [pays("new", 1.5) for _ in range(3)] == [False, False, True]


def test_where_much_work_is_expected_every_kernel_pays_at_once(account, monkeypatch):
    monkeypatch.setattr(compiled, "_is_on_disk", lambda _: False)
    expect_much_work()
    assert pays("any", 0.0)
    assert account["any"] == math.inf


def test_names_of_kernels_that_plain_code_has_twins_of_are_right():
    """A name with a slip in it would never be found on disk."""
    from taxocaps.encoding import bag

    names = ["taxocaps.text.scan_kernels:scan_texts", "taxocaps.text.scan_kernels:spread_words"]
    names += ["taxocaps.joining.kernels:sum_trees", "taxocaps.linear.kernels:add_sparse_products"]
    for name in [*names, *bag._KERNELS.values()]:
        module, _, function = name.partition(":")
        found = getattr(__import__(module, fromlist=[function]), function)
        assert found._cache._module == module
        assert found._cache._function == function


def test_draws_are_even_and_in_range():
    state, counts = np.uint64(7), np.zeros(6, int)
    for _ in range(12_000):
        state, draw = random_below(np.uint64(state), 6)
        counts[draw] += 1
    assert abs(counts - 2_000).max() < 200


def test_mixing_is_that_of_splitmix64():
    # The first numbers of the published generator for the seed 1234567.
    state, found = np.uint64(1234567), []
    for _ in range(3):
        state = np.uint64((int(state) + 0x9E3779B97F4A7C15) % 2**64)
        found.append(int(mixed(state)))
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]
