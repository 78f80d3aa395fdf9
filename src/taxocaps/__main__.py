"""The `taxocaps` command, and `python -m taxocaps`."""

import os
import sys
from typing import Any


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, even while it is still being imported."""
    sys.unraisablehook = _end_if_interrupted
    try:
        from taxocaps.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _end_if_interrupted(lost: Any) -> None:
    """Ctrl-C may come in a place that no exception can leave, such as a callback of the import system."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        os._exit(130)
    sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
