"""The examples run and print what their comments promise, and the guide to extensions has code that loads."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from taxocaps.corpus.readers import READERS
from taxocaps.encoding.encoders import ENCODERS
from taxocaps.explanations.explainers import EXPLAINERS
from taxocaps.metrics.evaluation import METRICS
from taxocaps.nn.networks import NETWORKS
from taxocaps.scorers.base import SCORERS
from taxocaps.scorers.decision import DECISION_RULES

REGISTRIES = (NETWORKS, ENCODERS, SCORERS, DECISION_RULES, METRICS, READERS, EXPLAINERS)
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.slow
def test_quickstart():
    shown = subprocess.run([sys.executable, EXAMPLES / "quickstart.py"], capture_output=True, text=True, check=True)
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("most central: 'company'")
    assert lines[1].split() == ["tell", "electric", "car", "company", "plan", "purchase", "one"]
    assert lines[2].endswith("('business', 'technology', 'cars')")
    assert lines[3] == "15 documents, 95 words, 95 rows"
    assert lines[4:] == ["['business', 'oil']", "['oil', 'price']"]


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run_and_come_without_outputs(notebook, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.read(notebook, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in cells)
    nbclient.NotebookClient(book, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.outputs for cell in cells)


def test_the_entry_points_of_the_guide_lead_to_its_code():
    guide = (EXAMPLES.parent / "docs" / "extending.md").read_text(encoding="utf-8")
    modules = {}
    for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        name = code.partition("\n")[0].removeprefix("# ").removesuffix(".py").replace("/", ".")
        modules[name] = ModuleType(name)
        sys.modules[name] = modules[name]  # dataclasses look their module up
        exec(compile(code, name, "exec", dont_inherit=True), modules[name].__dict__)
    points = [point for toml in re.findall(r"```toml\n(.*?)```", guide, re.DOTALL) for point in _entry_points(toml)]
    assert {group for group, _ in points} == {registry.group for registry in REGISTRIES}
    for _, target in points:
        module, _, attribute = target.partition(":")
        assert hasattr(modules[module], attribute)


def _entry_points(toml):
    groups = tomllib.loads(toml)["project"]["entry-points"]
    return [(group, target) for group, found in groups.items() for target in found.values()]
