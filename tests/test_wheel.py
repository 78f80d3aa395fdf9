"""What is released: archives with the same bytes every time, and a wheel that works in a fresh environment."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

import taxocaps

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "taxocaps"
FOREIGN = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "demo")


def build(source, folder):
    """The wheel and the source archive of a working copy."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(archives):
    return archives[0]


@pytest.mark.slow
def test_another_copy_gives_the_same_bytes(archives, tmp_path):
    copy = shutil.copytree(ROOT, tmp_path / "elsewhere", ignore=FOREIGN, copy_function=shutil.copyfile)
    for first, second in zip(archives, build(copy, tmp_path / "dist"), strict=True):
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
def test_the_wheel_holds_code_and_data_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    own = [path for path in SOURCE.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    assert {name for name in names if name.startswith("taxocaps/")} == {
        path.relative_to(SOURCE.parent).as_posix() for path in own
    }
    info = f"taxocaps-{taxocaps.__version__}.dist-info/"
    rest = {name.removeprefix(info) for name in names if not name.startswith("taxocaps/")}
    licences = {"licenses/LICENSE", "licenses/src/taxocaps/text/stopwords/LICENSE"}
    assert rest == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", *licences}


@pytest.mark.slow
def test_the_source_archive_holds_the_repository_and_no_leftovers(archives):
    with tarfile.open(archives[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("LICENSE", "README.md", "Makefile", "constraints.txt", "docs/index.md", "tests/conftest.py")
    assert {*wanted, "deploy/taxocaps.service", "src/taxocaps/py.typed"} <= names
    top = {name.partition("/")[0] for name in names}
    assert not top & {".venv", ".git", "build", "dist", "demo"}
    assert not [name for name in names if "__pycache__" in name]


def test_the_version_is_the_same_everywhere():
    version = taxocaps.__version__
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    released = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert released[0] == version


@pytest.mark.slow
def test_a_fresh_environment_with_the_wheel(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", f"{wheel}[serve]"]
    subprocess.run(install, check=True, capture_output=True)
    program = tmp_path / "env" / "bin" / "taxocaps"
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "1", "text": "Die Häuser der Stadt sind alt.", "labels": ["a"]}) + "\n")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*arguments):
        done = subprocess.run(
            [program, *arguments], check=True, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        return done.stdout

    assert run("--version").startswith("taxocaps ")
    encode = ("encode", corpus, "--out", tmp_path / "store", "--model", "HE-AGCRCNN", "--language", "de", "--json")
    assert json.loads(run(*encode))["words"] == 3
    run("graph", "Die Häuser der Stadt", "--language", "de", "--out", tmp_path / "graph.html")
    assert (tmp_path / "graph.html").stat().st_size > 5_000
    # The default model and linear ones need no extra.
    for model in ("auto", "SVM"):
        run("train", corpus, "--model", model, "--out", tmp_path / model)
        assert json.loads(run("predict", tmp_path / model, "--text", "Alte Häuser", "--top-k", "1"))["labels"]
    server = subprocess.Popen(
        [program, "serve", "SVM", "--port", "0"], stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    )
    try:
        line = next(line for line in server.stderr if "; Ctrl-C stops" in line)
        with urllib.request.urlopen(re.search(r"http://[\d.:]+", line).group(), timeout=30) as response:
            assert "<!doctype html>" in response.read().decode().lower()
    finally:
        server.terminate()
        assert server.wait(30) == 0
        server.stderr.close()
    # A missing extra is named, with the way to get it.
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    for extra, arguments in {
        "parquet": ("corpus", "check", tmp_path / "x.parquet"),
        "networks": ("train", corpus, "--model", "HE-AGCRCNN", "--out", tmp_path / "network"),
    }.items():
        missing = subprocess.run(
            [program, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )
        assert missing.returncode == 2
        assert f"pip install 'taxocaps[{extra}]'" in missing.stderr
