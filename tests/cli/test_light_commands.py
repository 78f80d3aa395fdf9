"""What works without the extra `networks`, and what a command with a linear model loads."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

BLOCK = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning", "gensim"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
"""
RUN = """
import contextlib, io, json
from taxocaps.cli.main import main

results = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
    results.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


def python(code, *arguments):
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def commands(*given):
    """Run commands in a process without torch, lightning and gensim; gives exit code and outputs of each."""
    words = json.dumps([[str(word) for word in command] for command in given])
    return json.loads(python(BLOCK + RUN, words))


@pytest.fixture(scope="module")
def linear_model(tmp_path_factory, toy_files):
    """Trained, too, without the extra."""
    model = tmp_path_factory.mktemp("linear") / "svm"
    documents = toy_files.documents
    files = (documents, toy_files.taxonomy)
    options = ("--model", "SVM", "--set", "bag.min_documents=1", "--quiet")
    assert commands(("train", *files, *options, "--out", model)) == [[0, "", ""]]
    return model


def test_a_linear_model_needs_no_networks(linear_model, toy_files, tmp_path):
    text = "The goalkeeper saved the penalty."
    predicted, written, measured, explained = commands(
        ("predict", linear_model, "--text", text, "--at-least", "1"),
        ("predict", linear_model, toy_files.documents, "-o", tmp_path / "p.jsonl", "--quiet"),
        ("evaluate", linear_model, toy_files.documents, "--json"),
        ("explain", linear_model, "--text", text, "--out", tmp_path / "page.html", "--json"),
    )
    assert (predicted[0], predicted[2]) == (0, "")
    assert json.loads(predicted[1])["labels"][0]["label"] == "Sport"
    assert written == [0, "", ""]
    assert (measured[0], json.loads(measured[1])["documents"]) == (0, 12)
    assert (explained[0], json.loads(explained[1])["method"]) == (0, "linear")
    assert (tmp_path / "page.html").exists()


def test_a_linear_model_is_served_without_networks(linear_model):
    code = (
        "from pathlib import Path; import taxocaps.web.api\n"
        "from taxocaps.corpus.document import Document\n"
        "from taxocaps.workflows.serve import ExplainJob, LabelJob, load_models\n"
        "(model,) = load_models([Path(sys.argv[1])]).values()\n"
        "document = Document('The goalkeeper saved the penalty.', id='x')\n"
        "((prediction,),) = model.answer([LabelJob((document,))])\n"
        "(explanation,) = model.answer([ExplainJob(document)])\n"
        "print(prediction.id, explanation.title, len(explanation.reasons) > 0)\n"
    )
    assert python(BLOCK + code, linear_model) == "x x True\n"


def test_other_commands_need_no_networks(toy_files, tmp_path):
    documents = toy_files.documents
    ended = commands(
        ("encode", documents, "--out", tmp_path / "network", "--model", "HE-AGCRCNN", "--json"),
        ("encode", documents, "--out", tmp_path / "store", "--json"),
        ("config",),
        ("models",),
        ("models", "--json"),
        ("config", "--model", "SVM"),
        ("config", "--model", "SVM", "--schema"),
        ("taxonomy", "show", toy_files.taxonomy),
        ("taxonomy", "check", toy_files.taxonomy),
        ("corpus", "check", tmp_path / "store", "--taxonomy", toy_files.taxonomy, "--json"),
        ("graph", documents, "--id", "football-cup", "--json"),
    )
    assert [code for code, _, _ in ended] == [0] * len(ended)
    assert all(out and not err for _, out, err in ended)
    assert json.loads(ended[0][1])["rows"] > 0


def test_a_network_names_the_extra_that_is_missing(toy_files, toy_model, tmp_path):
    files = (toy_files.documents, toy_files.taxonomy, "--out", tmp_path / "model")
    ended = commands(
        ("train", *files, "--model", "HE-AGCRCNN"),
        ("train", *files, "--model", "HAN"),
        ("config", "--model", "XML-CNN"),
        ("config", "--model", "HE-AGCRCNN", "--schema"),
        ("predict", toy_model, "--text", "x"),
        ("taxonomy", "embed", toy_files.taxonomy, "--out", tmp_path / "vectors.npz", "--quiet"),
        ("taxonomy", "reconstruct", toy_files.taxonomy, "--quiet"),
    )
    for code, out, err in ended:
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert "pip install 'taxocaps[networks]'" in err
    assert list(tmp_path.iterdir()) == []


HEAVY = ("torch", "lightning", "gensim", "sklearn", "numba")


@pytest.mark.parametrize(
    "options", [("--text", "The goalkeeper saved the penalty."), ("FILE",)], ids=["a text", "a file"]
)
def test_labelling_with_a_linear_model_loads_no_heavy_library(linear_model, toy_files, options):
    code = (
        "import sys\n"
        "from taxocaps.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as end:\n"
        f"    print(end.code, [name for name in {HEAVY} if name in sys.modules])\n"
    )
    words = [toy_files.documents if option == "FILE" else option for option in options]
    assert python(code, "predict", linear_model, *words).splitlines()[-1] == "0 []"


def test_labelling_with_a_network_loads_neither_the_training_loop_nor_the_compiler_of_torch(toy_model):
    code = (
        "import sys\n"
        "from taxocaps.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as end:\n"
        "    print(end.code, [name for name in ('torch', 'torch._dynamo', 'lightning') if name in sys.modules])\n"
    )
    assert python(code, "predict", toy_model, "--text", "A goal.").splitlines()[-1] == "0 ['torch']"


WRONG = """
import resource, sys
from taxocaps.cli.main import main

try:
    main(sys.argv[1:])
except SystemExit:
    print("torch" in sys.modules, resource.getrusage(resource.RUSAGE_SELF).ru_utime)
"""


@pytest.mark.parametrize(
    "words",
    [
        ("train", "nope.jsonl", "--out", "model"),
        ("train", "DOCUMENTS", "--test", "nope.jsonl", "--out", "model"),
        ("train", "DOCUMENTS", "--from", "nope", "--out", "model"),
        ("encode", "nope.jsonl", "--out", "store"),
        ("predict", "MODEL", "nope.jsonl"),
        ("evaluate", "MODEL", "nope.jsonl"),
        ("explain", "MODEL", "--input", "nope.jsonl", "--id", "1"),
    ],
    ids=" ".join,
)
def test_a_wrong_path_is_told_before_anything_is_loaded(toy_model, toy_files, words):
    places = {"MODEL": toy_model, "DOCUMENTS": toy_files.documents}
    has_torch, seconds = python(WRONG, *(places.get(word, word) for word in words)).split()
    assert has_torch == "False"
    assert float(seconds) < 3  # about 0.4 on a machine with nothing else to do
