"""What the examples print is what the README shows."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_quickstart():
    shown = subprocess.run([sys.executable, EXAMPLES / "quickstart.py"], capture_output=True, text=True, check=True)
    assert "most central: 'company'" in shown.stdout
    assert "('business', 'technology', 'electric cars')" in shown.stdout
    assert "1 document, 43 rows of 20 words" in shown.stdout
