"""The house rules that a machine can check."""

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
TEXTS = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".cff", ".json", ".csv", ".js", ".css", ".html"}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if not path.name.startswith("_"))


def relative(path):
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_public_names_are_declared_and_exist(module):
    name = ".".join(("taxocaps", *module.relative_to(SOURCE).with_suffix("").parts))
    loaded = importlib.import_module(name)
    assert loaded.__doc__
    assert len(set(loaded.__all__)) == len(loaded.__all__)
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


def test_no_file_names_a_place_on_one_machine():
    folders = ("src", "tests", "docs", "examples", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS]
    assert len(files) > 200
    for path in (*files, *ROOT.glob("*.*")):
        if path.suffix in TEXTS:
            found = re.search(r"(?<![\w.~/])/(?:work|root|home|Users)/\w+", path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(ROOT)} names {found.group()}"


def canonical(name):
    """The name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_direct_dependency_has_a_tested_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    names = {canonical(re.split(r"[<>=;\[ ]", requirement)[0]) for requirement in wanted} - {"taxocaps"}
    pinned = {
        canonical(line.split("==")[0])
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    assert names <= pinned
    assert "torch" in pinned


def test_every_dependency_of_a_locked_install_is_locked():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    extras = re.search(r"taxocaps\[([\w,]+)\]", lock)[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    names = {canonical(re.split(r"[<>=;\[ ]", requirement)[0]) for requirement in wanted}
    assert names <= {canonical(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}


def test_links_in_the_documentation_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_no_figure_of_the_results_page_was_typed_by_hand():
    script = ROOT / "benchmarks" / "render.py"
    found = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
