"""Another model takes the place of one that is served, and no request notices but by its answer."""

import gc
import shutil
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import pytest

from taxocaps.web.reloading import Exchange, Reloader, settle
from taxocaps.workflows.serve import arrange_queue, load_models

TEXT = "The striker scored two goals for his club."


@pytest.fixture
def running(serve, news):
    (model,) = load_models([news]).values()
    return serve(model)


def labels(running):
    answer = running.client.post("/v1/predict", json={"text": TEXT}).json()
    return {one["label"] for one in answer["predictions"][0]["labels"]}


def ask(running, path, **body):
    return running.client.post(f"/v1/model/{path}", json=body)


def replace_files(news):
    """What happens when another model is trained into the same folder."""
    shutil.rmtree(news)
    shutil.copytree(news.with_name("other"), news)


def test_a_model_is_loaded_anew_from_its_folder_and_there_is_a_way_back(running, news):
    first = running.client.get("/v1/models").json()["models"][0]["version"]
    assert "Football" in labels(running)
    assert ask(running, "reload").json() == {"model": "news", "version": first, "before": first}
    replace_files(news)
    assert "Football" in labels(running)
    changed = ask(running, "reload").json()
    assert changed["before"] == first != changed["version"]
    assert "Tennis" in labels(running)
    assert running.client.get("/v1/models").json()["models"][0]["version"] == changed["version"]
    assert ask(running, "back").json() == {"model": "news", "version": first, "before": changed["version"]}
    assert "Football" in labels(running)
    assert ask(running, "back").json()["version"] == changed["version"]  # back again
    assert [entry["message"] for entry in running.log if entry.get("level") == "info"][1] == (
        f"news: version {changed['version']} replaces {first}"
    )


def test_a_model_from_the_folder_beside_it_keeps_the_name(running):
    assert ask(running, "reload", folder="other").status_code == 200
    assert "Tennis" in labels(running)
    assert running.client.get("/v1/models").json()["default"] == "news"
    assert ask(running, "reload").status_code == 200  # the one that the server was started with
    assert "Football" in labels(running)


def test_no_other_folder_can_be_named(running, news, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(news.with_name("other"), elsewhere / "model")
    news.with_name("link").symlink_to(elsewhere / "model")
    shutil.copytree(news.with_name("other"), news.with_name(".hidden"))
    shutil.copytree(news.with_name("other"), news.with_name("sub") / "other")
    for folder in ("..", ".", "../news", "sub/other", "/etc", "link", ".hidden", "", "x" * 101, "null\0"):
        answer = ask(running, "reload", folder=folder)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "folder"), answer.text
    assert "Football" in labels(running)


def test_a_link_to_a_model_is_followed_anew(serve, news):
    """As those do who publish models by changing a link."""
    link = news.with_name("current")
    link.symlink_to(news)
    (model,) = load_models([link]).values()
    running = serve(model)
    link.unlink()
    link.symlink_to(news.with_name("other"))
    assert ask(running, "reload").status_code == 200
    assert "Tennis" in labels(running)


def test_a_damaged_model_does_not_replace_one_and_is_told_without_its_path(running, news):
    other = news.with_name("other")
    (other / "weights.safetensors").write_bytes(b"nothing")
    answer = ask(running, "reload", folder="other")
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert message.startswith("the model stays as it was: other/weights.safetensors: damaged")
    assert str(news.parent) not in message
    assert ask(running, "reload", folder="missing").status_code == 404
    assert ask(running, "back").status_code == 409
    assert "Football" in labels(running)


def test_the_path_of_a_damaged_model_is_not_told_if_the_server_was_started_with_a_relative_one(
    slate, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    models = {}
    for number in range(16):  # whose names have any order in a set
        Path(f"{number}/other").mkdir(parents=True)
        models[str(number)] = replace(slate.served(str(number)), folder=Path(f"{number}/news"))
    reloader = Reloader(models)
    for name in models:
        message = reloader.run(Exchange(name, "other")).message
        assert message.startswith("the model stays as it was: other: ")


def test_no_request_is_dropped(running):
    failed, count, stop = [], [0], threading.Event()

    def client():
        while not stop.is_set():
            answer = running.client.post("/v1/predict", json={"text": TEXT})
            count[0] += 1
            if answer.status_code != 200 or not answer.json()["predictions"][0]["labels"]:
                failed.append(answer.text)

    clients = [threading.Thread(target=client) for _ in range(4)]
    for one in clients:
        one.start()
    versions = {ask(running, "reload", folder=folder).json()["version"] for folder in ("other", "news") * 3}
    stop.set()
    for one in clients:
        one.join()
    assert (len(versions), failed) == (2, [])
    assert count[0] > 6
    assert len(running.service._batchers) <= 1  # threads of models that are gone are gone, too


def test_the_queue_has_the_suggestions_of_the_new_model(serve, news):
    from taxocaps.corpus.document import Document

    (model,) = load_models([news]).values()
    arrange_queue(model, [Document(TEXT, "1"), Document("She won the final in three sets.", "2")])
    running = serve(model)

    def suggested():
        found = running.client.get("/v1/queue").json()
        return {one["document"]["id"]: {label["label"] for label in one["labels"]} for one in found["documents"]}

    assert "Football" in suggested()["1"]
    ask(running, "reload", folder="other")
    assert "Tennis" in suggested()["1"]
    ask(running, "back")
    assert "Football" in suggested()["1"]
    assert len(suggested()) == 2


def test_the_garbage_collector_passes_over_what_stays_and_still_finds_models_that_were_replaced():
    class Model:
        def __init__(self):
            self.itself = self  # as models refer to themselves in what they keep ready

    model = Model()
    seen = weakref.ref(model)
    settle()
    assert gc.get_freeze_count() > 10_000
    assert not any(one is model for one in gc.get_objects())
    del model
    gc.collect()
    assert seen() is not None
    settle()
    assert seen() is None
