"""The pages of the documentation, and the commands in their blocks of code."""

import re
import shlex
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclass
class Shown:
    """A command of a page and the lines that are shown below it."""

    command: str
    printed: list[str] = field(default_factory=list)


def blocks(page):
    """The blocks of code of a page: what comes before, the kind, and the code."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"([^\n]*)\n```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def prose(page):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def commands(kind, code):
    """The commands of a block; blocks that are no commands have none."""
    if kind == "console":
        return session(code)
    lines = re.sub(r"\\\n\s*", "", code).splitlines() if kind == "sh" else []
    return [Shown(without_comment(line)) for line in lines if without_comment(line)]


def session(code):
    """The commands of a block of the kind `console`."""
    found = []
    for line in code.splitlines():
        if line.startswith("$ "):
            found.append(Shown(line.removeprefix("$ ")))
        elif found and is_open(found[-1].command):
            found[-1].command += "\n" + line
        elif found:
            found[-1].printed.append(line)
    return found


def without_comment(line):
    return re.sub(r"(^|\s+)# .*", "", line)


def is_open(command):
    """Whether a command goes on in the next line."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return command.rstrip().endswith(("\\", "|"))


def words_of(command):
    """The words after `taxocaps` of a command line; None if it runs something else."""
    with suppress(ValueError):
        words = shlex.split(command, comments=True)
        if "taxocaps" in words and words[0] != "pip":
            return words[words.index("taxocaps") + 1 :]
    return None
