"""The house rules that a machine can check."""

import ast
import importlib
import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "taxocaps"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if not path.name.startswith("_"))
LONG_FILES = {
    "graph/kernels.py": "numba's cache notices changes of a kernel's own file only, so all kernels stand in one",
}
DECLARATIONS = {"graph/arrays.py": "names of types, nothing to run"}
MOST_LINES = 300
MOST_LINES_OF_A_FUNCTION = 40


def relative(path):
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_every_module_has_a_twin_among_the_tests(module):
    twin = ROOT / "tests" / module.relative_to(SOURCE).parent / f"test_{module.name}"
    assert twin.exists() or relative(module) in DECLARATIONS


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_files_and_functions_are_short(module):
    text = module.read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES or relative(module) in LONG_FILES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and relative(module) not in LONG_FILES:
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = node.end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= MOST_LINES_OF_A_FUNCTION, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_public_names_are_declared_and_exist(module):
    name = ".".join(("taxocaps", *module.relative_to(SOURCE).with_suffix("").parts))
    loaded = importlib.import_module(name)
    assert loaded.__doc__
    for public in loaded.__all__:
        assert hasattr(loaded, public)


def test_architecture_page_names_every_package_and_top_level_module():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = [path.parent.name for path in SOURCE.glob("*/__init__.py")]
    modules = [path.name for path in SOURCE.glob("*.py") if not path.name.startswith("_")]
    assert packages
    for name in (*(f"`{package}/`" for package in packages), *(f"`{module}`" for module in modules)):
        assert name in page, f"docs/architecture.md does not say what {name} is for"
    for named in re.findall(r"`(\w+/\w+\.py)`", page):
        assert (SOURCE / named).exists(), f"docs/architecture.md names {named}, which is not there"


def test_names_of_variants_stay_in_the_catalogue():
    for module in MODULES:
        if relative(module).split("/")[0] != "catalogue":
            assert not re.search(r"(?<!D)T?A?G[CR]*CNN", module.read_text(encoding="utf-8"))


def test_every_direct_dependency_has_a_tested_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    names = {re.split(r"[<>=;\[ ]", requirement)[0] for requirement in wanted} - {"taxocaps"}
    pinned = {
        line.split("==")[0]
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    assert names <= pinned
    assert "torch" in pinned


def test_links_in_the_documentation_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_no_figure_of_the_results_page_was_typed_by_hand():
    script = ROOT / "benchmarks" / "render.py"
    found = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
