"""The examples run and print what their comments promise."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_quickstart():
    shown = subprocess.run([sys.executable, EXAMPLES / "quickstart.py"], capture_output=True, text=True, check=True)
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("most central: 'company'")
    assert lines[1].split() == ["tell", "electric", "car", "company", "plan", "purchase", "one"]
    assert lines[2].endswith("('business', 'technology', 'cars')")
    assert lines[3] == "15 documents, 95 words, 95 rows"
    assert lines[4:] == ["['business', 'oil']", "['oil', 'price']"]
