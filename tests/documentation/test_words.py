"""What the pages name exists: commands, their options, scripts, targets of make; and the site builds."""

import functools
import re
import subprocess
import sys

import pytest
import typer
from documentation.pages import PAGES, ROOT, blocks, commands, prose, words_of

import taxocaps
from taxocaps.cli.main import app
from taxocaps.workflows.config import resolve_run_config

KINDS = {"console", "sh", "python", "json", "toml", "ini", "nginx", "caddy", "dockerfile", "text"}


def parsed_lines():
    """All command lines of `taxocaps` in blocks, with their pages."""
    for page in PAGES:
        for _, kind, code in blocks(page):
            for shown in commands(kind, code):
                if words_of(shown.command):
                    yield pytest.param(words_of(shown.command), id=f"{page.stem}: {shown.command.partition(' #')[0]}")


@functools.cache
def command_line():
    """The commands as typer has them, which do not look for the files that they are given."""
    return without_callbacks(typer.main.get_command(app))


def without_callbacks(command):
    for parameter in command.params:
        parameter.callback = None
    for one in getattr(command, "commands", {}).values():
        without_callbacks(one)
    return command


def find_command(words):
    """The command that some words call, and the words that are left for it."""
    command = command_line()
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("words", list(parsed_lines()))
def test_command_lines_parse(words):
    command, rest = find_command(words)
    assert not hasattr(command, "commands"), f"no command is called {rest[:1]}"
    given = command.make_context("taxocaps", list(rest)).params
    if given.get("settings") and "serve" not in words:
        model = [f"model={given['model']}"] if given.get("model") else []
        resolve_run_config(overrides=[*model, *given["settings"]])


def test_options_named_in_the_text_exist():
    checked = 0
    for page in PAGES:
        for code in re.findall(r"(?<!`)`taxocaps ([a-z][^`]*)`(?!`)", prose(page)):
            command, rest = find_command(code.split())
            options = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
            for option in re.findall(r"--[a-z-]+", " ".join(rest)):
                assert option in options, f"{page.name}: `taxocaps {code}`"
                checked += 1
    assert checked > 10


def test_scripts_and_targets_named_in_the_text_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = [(page.name, code) for page in PAGES for code in re.findall(r"`((?:python|make) [^`]*)`", prose(page))]
    assert len(named) > 10
    for page, code in named:
        program, *words = code.split()
        if program == "make":
            assert {word for word in words if "=" not in word} <= targets, f"{page}: `{code}`"
        elif words[0] not in ("-m", "-c"):
            assert (ROOT / words[0]).exists(), f"{page}: `{code}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page):
    for _, kind, code in blocks(page):
        assert kind in KINDS, f"```{kind}\n{code}"


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_has_every_public_name(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(build, check=False, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    for name in set(taxocaps.__all__) - {"__version__"}:
        assert f'id="taxocaps.{name}"' in page, f"docs/api.md does not have {name}"
