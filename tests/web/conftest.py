"""Servers on free ports, with models that do what a test wants."""

import contextlib
import json
import shutil
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

from taxocaps.explanations.explanation import Explanation
from taxocaps.results import ModelCard, Prediction, ScoredLabel, TaxonomyLabel, TaxonomyView
from taxocaps.web.api import Service
from taxocaps.web.limits import ServeConfig
from taxocaps.web.server import Server, address, bind
from taxocaps.workflows.serve import ExplainJob, ServedModel, load_models

CARD = ModelCard(
    name="",
    model="M",
    preset="default",
    seed=0,
    labels=1,
    language="en",
    hierarchy="as-is",
    rule="fixed",
    at_least=0,
    validation={"f1": 0.5, "calibration_error": float("nan")},
)


class Slate:
    """A model that gives each document its own text as label; it works only while `open` is set."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        self.begun = threading.Event()
        self.batches = []

    def answer(self, jobs):
        self.batches.append([document.text for job in jobs for document in documents_of(job)])
        self.begun.set()
        assert self.open.wait(20)
        return [self._answer(job) for job in jobs]

    def _answer(self, job):
        if isinstance(job, ExplainJob):
            return Explanation("M", job.document.id or "none", job.document.text, (), (), "none", (), None, None)
        if any(document.text == "burst" for document in job.documents):
            return ZeroDivisionError("a secret of the house")
        return tuple(
            Prediction(document.id, (ScoredLabel(document.text, document.text, 0.5, ((document.text,),)),))
            for document in job.documents
        )

    def served(self, name="slate"):
        taxonomy = TaxonomyView(name, ("a",), (TaxonomyLabel("a", "A", 0, (), 0.5),))
        return ServedModel(name, replace(CARD, name=name), taxonomy, self.answer)


def documents_of(job):
    return [job.document] if isinstance(job, ExplainJob) else job.documents


@pytest.fixture(scope="session")
def linear_models(tmp_path_factory, toy_files):
    """The folder of two linear models of the toy documents, "news" and "other", which takes football for tennis."""
    from dataclasses import replace as changed

    from taxocaps.corpus.writers import write_documents
    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.train import TrainFiles, train

    home = tmp_path_factory.mktemp("linear")
    documents = [document for _, document in toy_files.data.documents()]
    swap = {"Football": "Tennis", "Tennis": "Football"}
    swapped = [changed(one, labels=tuple(swap.get(label, label) for label in one.labels)) for one in documents]
    names = {"Football": ["soccer"], "Genetics": ["heredity"]}
    nodes = [
        {"name": label, "children": toy_files.data.taxonomy.children(label)} for label in toy_files.data.taxonomy.names
    ]
    nodes = [{**node, "alternatives": names.get(node["name"], [])} for node in nodes]
    (home / "taxonomy.json").write_text(json.dumps(nodes))
    options = resolve_run_config(overrides=("model=SVM", "bag.min_documents=1"))
    for name, some in (("news", documents), ("other", swapped)):
        write_documents(some, home / f"{name}.jsonl")
        train(TrainFiles(home / f"{name}.jsonl", home / "taxonomy.json"), home / name, options)
    return home


@pytest.fixture(scope="session")
def loaded_news(linear_models):
    """The first of them, loaded; a test must give it a store of its own."""
    (model,) = load_models([linear_models / "news"]).values()
    return model


@pytest.fixture
def news(linear_models, tmp_path):
    """The folder of a linear model that a test may change, with another one beside it."""
    for name in ("news", "other"):
        shutil.copytree(linear_models / name, tmp_path / name)
    return tmp_path / "news"


@pytest.fixture
def slate():
    slate = Slate()
    yield slate
    slate.open.set()


@pytest.fixture
def serve():
    """Start servers that end with the test; gives their client, their log and how to stop them."""
    with contextlib.ExitStack() as stack:
        yield lambda *models, **options: stack.enter_context(serving(*models, **options))


@pytest.fixture(scope="module")
def serve_all():
    """As `serve`, for servers that all tests of a file share."""
    with contextlib.ExitStack() as stack:
        yield lambda *models, **options: stack.enter_context(serving(*models, **options))


@pytest.fixture(scope="session")
def new_slate():
    """For tests that need several."""
    return Slate


@contextlib.contextmanager
def serving(*models, token=None, examples=(), **limits):
    log = []
    named = {model.name: model for model in models}
    service = Service(named, ServeConfig(**limits), token=token, log=log.append, examples=examples)
    server, listener = Server(service), bind("127.0.0.1", 0)
    url, port = address(listener), listener.getsockname()[1]
    thread = threading.Thread(target=server.serve_on, args=(listener,))
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.005)
    try:
        # No certificates: to read them takes longer than most tests.
        with httpx.Client(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            yield SimpleNamespace(
                client=client, url=url, port=port, log=log, server=server, service=service, thread=thread
            )
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()
