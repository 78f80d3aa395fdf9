"""Model folders from strangers: whatever is in them, there is a model that works, or one line that says why not."""

import json
import os
import shutil
import time

import numpy as np
import pytest
import torch
import yaml
from safetensors.numpy import load_file, save_file

from taxocaps.corpus.document import Document
from taxocaps.errors import ModelError
from taxocaps.scorers.model_folder import digest, file_names
from taxocaps.scorers.network import _device
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.train import TrainFiles, train

TEXT = "The goalkeeper saved a penalty in the cup final."
BAG = {"min_documents": 1}
LINEAR = {"scorer": "linear", "bag": BAG}
KINDS = {
    "linear": LINEAR,
    "top-down": {**LINEAR, "linear": {"structure": "top_down"}},
    "structured": {**LINEAR, "linear": {"structure": "structured"}},
    "joined": {"scorer": "joined", "members": {"words": LINEAR, "letters": {**LINEAR, "bag": {"features": "pairs"}}}},
    "network": {"network": {"kind": "kim-cnn"}, "training": {"epochs": 1}},
    "sequences": {"network": {"kind": "sgm"}, "training": {"epochs": 1}},
}


@pytest.fixture(scope="module")
def saved(fit, tmp_path_factory):
    """Folders of models of all kinds, written when they are first asked for."""
    made = {}

    def folder_of(kind):
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp("saved") / "model"
            made[kind].mkdir()
            save_model(fit(KINDS[kind]), made[kind])
        return made[kind]

    return folder_of


@pytest.fixture
def copy(saved, tmp_path):
    """A copy that may be changed."""
    return lambda kind="linear": shutil.copytree(saved(kind), tmp_path / "model")


def sealed(folder):
    """The hashes of changed files, as whoever changes them would write them."""
    path = folder / "versions.json"
    versions = json.loads(path.read_text(encoding="utf-8"))
    versions["files"] = {name: digest(folder / name) for name in versions["files"] if (folder / name).is_file()}
    path.write_text(json.dumps(versions), encoding="utf-8")
    return folder


def refused(folder, within=10.0):
    """The one line with which a model is refused, soon enough."""
    start = time.process_time()
    with pytest.raises(ModelError) as caught:
        predict(folder)
    assert time.process_time() - start < within
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1_000
    return message


def predict(folder):
    model = load_model(folder)
    documents = [Document(TEXT)]
    return list(model.predictions(documents, model.own_scores(model.scorer.encoder.encode(documents))))


def write_json(folder, name, value):
    (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return sealed(folder)


def edit_json(folder, name, change):
    value = json.loads((folder / name).read_text(encoding="utf-8"))
    change(value)
    return write_json(folder, name, value)


def edit_options(folder, section, **options):
    content = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    content.setdefault(section, {}).update(options)
    (folder / "config.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return sealed(folder)


def edit_arrays(folder, name, change, file="weights.safetensors"):
    arrays = load_file(folder / file)
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    save_file(arrays, folder / file)
    return sealed(folder)


def put(index, value):
    def change(array):
        array = array.copy()
        array.flat[index] = value
        return array

    return change


# Arrays. Indices that lead outside of a matrix crash whoever trusts them.

SPARSE = {
    "a column too far": ("coef.indices", put(0, 10**6)),
    "a negative column": ("coef.indices", put(-1, -1)),
    "columns of another type": ("coef.indices", lambda array: array.astype(np.int64)),
    "a row that jumps": ("coef.indptr", put(3, 10**9)),
    "a row that goes back": ("coef.indptr", put(3, -7)),
    "rows that begin late": ("coef.indptr", put(0, 2)),
    "a row too few": ("coef.indptr", lambda array: array[:-1]),
    "values missing": ("coef.data", lambda array: array[:-5]),
    "a weight that is no number": ("coef.data", put(4, np.nan)),
    "an infinite weight": ("coef.data", put(4, np.inf)),
    "an infinite intercept": ("intercept", put(0, -np.inf)),
    "an intercept too many": ("intercept", lambda array: np.append(array, array[:1])),
    "intercepts of another type": ("intercept", lambda array: array.astype(np.float16)),
    "an idf too few": ("idf", lambda array: array[1:]),
    "an idf of rows": ("idf", lambda array: array[None]),
    "an idf that is no number": ("idf", put(0, np.nan)),
    "an idf of nothing": ("idf", put(0, 0.0)),
    "an idf beyond reason": ("idf", put(0, 1e300)),
}


@pytest.mark.parametrize("kind", ["linear", "top-down", "structured"])
@pytest.mark.parametrize("change", SPARSE.values(), ids=SPARSE.keys())
def test_weights_that_do_not_fit_are_refused(copy, kind, change):
    message = refused(edit_arrays(copy(kind), *change))
    assert "weights.safetensors: damaged, or not the weights of this model: " in message


def test_a_missing_array_is_named(copy):
    folder = copy()
    save_file({"idf": load_file(folder / "weights.safetensors")["idf"]}, folder / "weights.safetensors")
    assert "coef.indptr is missing" in refused(sealed(folder))


def test_a_vocabulary_shorter_than_the_matrix_is_refused(copy):
    folder = copy()
    lines = (folder / "vocabulary.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "vocabulary.tsv").write_text("".join(lines[:3]), encoding="utf-8")
    assert "columns outside of the 3 that there are" in refused(sealed(folder))


def test_a_count_of_thousands_of_digits_is_refused(copy):
    folder = copy()
    (folder / "vocabulary.tsv").write_text(f"word\t{'9' * 4_400}\n", encoding="utf-8")
    assert "line 1: the vocabulary is damaged" in refused(sealed(folder))


JOIN = {
    "a child outside": ("left", put(0, 10**6)),
    "a child that is its own parent": ("left", put(0, 0)),
    "a root outside": ("roots", put(0, -1)),
    "a feature outside": ("features", put(0, 10**4)),
    "an endless value": ("values", put(-1, np.inf)),
    "a value beyond reason": ("values", put(-1, 1e200)),
    "a baseline that is no number": ("baseline", put(0, np.nan)),
    "two baselines": ("baseline", lambda array: np.append(array, array)),
    "a count too few": ("counts", lambda array: array[1:]),
    "a negative count": ("counts", put(0, -1)),
    "no candidates": ("candidates", put(0, 0)),
    "candidates in a matrix": ("candidates", lambda array: array[None]),
    "an idf of names too few": ("names.words", lambda array: array[1:]),
    "an idf of names that is no number": ("names.characters", put(0, np.nan)),
}


@pytest.mark.parametrize("change", JOIN.values(), ids=JOIN.keys())
def test_joined_models_that_do_not_fit_are_refused(copy, change):
    assert "join.safetensors: damaged" in refused(edit_arrays(copy("joined"), *change, file="join.safetensors"))


def test_members_of_a_joined_model_are_looked_at_just_as_closely(copy):
    folder = copy("joined")
    edit_arrays(folder, "coef.indices", put(0, 10**6), file="members/letters/weights.safetensors")
    assert "members/letters/weights.safetensors: damaged" in refused(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_network_of_weights_that_are_no_numbers_is_refused(copy, value):
    assert "infinite or no numbers" in refused(edit_arrays(copy("network"), "network.embedding.weight", put(9, value)))


def test_a_network_of_another_shape_is_refused(copy):
    folder = edit_arrays(copy("network"), "network.embedding.weight", lambda array: array[:-1])
    assert "network.embedding.weight is torch.float32 of the shape" in refused(folder)


def test_a_network_that_its_options_make_endless_takes_no_memory(copy):
    folder = edit_options(copy("network"), "network", filters=1_000_000)
    assert "weights.safetensors: damaged, or not the weights of this model" in refused(folder)


def test_whole_numbers_in_a_network_are_labels(copy):
    assert "rank has numbers that are no labels" in refused(edit_arrays(copy("sequences"), "network.rank", put(0, 99)))


def test_weights_that_overflow_are_told_when_scores_are_no_numbers_any_more(copy):
    folder = edit_arrays(copy("network"), "network.embedding.weight", lambda array: np.full_like(array, 3e38))
    assert "scores that are no numbers" in refused(folder)


# Files: a model reads those of its own folder, and these are files.


@pytest.mark.parametrize("kind", ["linear", "joined", "network"])
@pytest.mark.parametrize("path", ["/etc/passwd", "../../../etc/hostname", "/proc/self/environ", "labels.json", ""])
def test_stop_words_are_the_models_own(copy, kind, path):
    assert "or the model's own stop_words.txt" in refused(edit_options(copy(kind), "text", stop_words=path))


def test_stop_words_that_are_not_there(copy):
    assert "or the model's own stop_words.txt" in refused(edit_options(copy(), "text", stop_words="stop_words.txt"))


@pytest.mark.parametrize("name", ["/tmp/pipeline", "../pipeline", "no_such_package_at_all"])
def test_a_pipeline_of_spacy_elsewhere_is_not_read_unasked(copy, name):
    assert "give --trust-code" in refused(edit_options(copy(), "text", tokenizer=f"spacy:{name}"))


@pytest.mark.parametrize("name", ["labels.json", "weights.safetensors", "metrics.json", "versions.json"])
def test_a_link_out_of_the_folder_is_refused(copy, tmp_path, name):
    folder = copy()
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to("../elsewhere")
    assert refused(folder) == f"{folder / name}: is a link that leads elsewhere; put the file itself there"


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/stdin", "nowhere", "."])
def test_links_to_devices_nowhere_and_folders_are_refused(copy, target):
    folder = copy()
    (folder / "labels.json").unlink()
    (folder / "labels.json").symlink_to(target)
    assert "is a link that leads elsewhere" in refused(folder)


def test_a_link_inside_the_folder_and_a_link_to_it_are_followed(copy, tmp_path):
    folder = copy()
    expected = predict(folder)
    (folder / "labels.json").rename(folder / "names")
    (folder / "labels.json").symlink_to("names")
    (tmp_path / "link").symlink_to(folder)
    assert predict(tmp_path / "link") == expected


@pytest.mark.parametrize("name", ["labels.json", "versions.json", "thresholds.json", "vocabulary.tsv"])
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(copy, name):
    folder = copy()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert name in refused(folder)


@pytest.mark.parametrize("name", ["weights.safetensors", "labels.json", "notes"])
def test_a_file_of_nothing_but_holes_is_not_read_through(copy, name):
    folder = copy()
    with (folder / name).open("ab") as file:
        file.truncate(2**42)
    assert "more than the memory of this machine" in refused(folder, within=1)


def test_replacing_a_model_removes_nothing_elsewhere(copy, toy_files, tmp_path):
    folder, beside = copy(), tmp_path / "beside"
    beside.mkdir()
    for name in ("../beside", str(beside)):
        path = folder / "versions.json"
        versions = json.loads(path.read_text(encoding="utf-8"))
        versions["files"][name] = "0" * 64
        path.write_text(json.dumps(versions), encoding="utf-8")
        config = resolve_run_config(overrides=("model=SVM",))
        train(TrainFiles(toy_files.documents, toy_files.taxonomy), folder, config, existing="overwrite")
        assert beside.is_dir()
        assert predict(folder)


def test_a_folder_in_place_of_a_file(copy):
    folder = copy()
    (folder / "labels.json").unlink()
    (folder / "labels.json").mkdir()
    assert "labels.json: is missing from the model" in refused(folder)


@pytest.mark.parametrize("name", ["labels.json", "config.yaml", "weights.safetensors", "vocabulary.tsv"])
def test_a_file_missing_from_the_list_is_missed(copy, name):
    folder = copy()
    path = folder / "versions.json"
    versions = json.loads(path.read_text(encoding="utf-8"))
    del versions["files"][name]
    path.write_text(json.dumps(versions), encoding="utf-8")
    assert refused(folder) == (
        f"{folder / name}: is not listed in versions.json; copy the model again, or train it anew"
    )


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "members/../../secret", "..", "", ".", "\0"])
def test_a_list_of_files_elsewhere_is_not_followed(copy, name):
    folder = copy()
    path = folder / "versions.json"
    versions = json.loads(path.read_text(encoding="utf-8"))
    versions["files"][name] = "0" * 64
    path.write_text(json.dumps(versions), encoding="utf-8")
    assert "is missing from the model" in refused(folder)
    assert file_names(folder) & {"..", "", ".", "/", "etc"} == set()


def test_a_format_of_the_future_is_refused_and_a_newer_version_is_told(copy, caplog):
    folder = copy()
    edit_json(folder, "versions.json", lambda versions: versions.update(taxocaps="99.1"))
    predict(folder)
    assert "was written by taxocaps 99.1, which is newer than this one" in caplog.text
    edit_json(folder, "versions.json", lambda versions: versions.update(format="taxocaps-model/99"))
    assert "is of format 'taxocaps-model/99'" in refused(folder)


# Bombs: a few lines that would stand for gigabytes, and large files that would take minutes.


def nine_laughs(levels=9):
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


BOMBS = {
    "aliases": lambda text: f"{text}\n{nine_laughs()}\n",
    "an alias of itself": lambda text: f"{text}\nloop: &loop [*loop]\n",
    "a long list": lambda text: f"{text}\nlist: [{'1, ' * 1_700_000}]\n",
    "a long comment": lambda text: f"{text}\n#{'x' * 20_000_000}\n",
    "many short lines": lambda text: text + "\n" * 5_000_000,
    "brackets": lambda text: f"{text}\ndeep: {'[' * 100_000}\n",
    "nested sections": lambda text: text + "\n" + "".join(f"{' ' * n}k:\n" for n in range(500)),
    "a long number": lambda text: f"{text}\nnumber: {'9' * 100_000}\n",
    "a number of sixties": lambda text: f"{text}\nnumber: 1{':59' * 60_000}\n",
    "a tag": lambda text: f"{text}\nx: !!python/object/apply:os.system [true]\n",
    "a date": lambda text: text.replace("seed: 0", "seed: 2001-01-01"),
    "a seed too large": lambda text: text.replace("seed: 0", f"seed: {10**30}"),
    "no text": lambda text: "\0",
}


@pytest.mark.parametrize("change", BOMBS.values(), ids=BOMBS.keys())
def test_a_configuration_that_would_explode_is_refused_at_once(copy, change):
    folder = copy()
    path = folder / "config.yaml"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    refused(sealed(folder), within=3)


DEEP = "[" * 200_000
HUGE = "1" + "0" * 4_000


@pytest.mark.parametrize("name", ["labels.json", "taxonomy.json", "thresholds.json", "versions.json"])
@pytest.mark.parametrize("content", [DEEP, f'{{"a": {DEEP}', f'{{"a": {HUGE}}}', '{"a": 1e999}', '"\\ud800"', "\0", ""])
def test_json_that_is_deep_or_huge_is_refused(copy, name, content):
    folder = copy()
    (folder / name).write_text(content, encoding="utf-8")
    assert name in refused(folder if name == "versions.json" else sealed(folder), within=3)


@pytest.mark.parametrize("content", [DEEP, f'{{"epochs": {HUGE}}}', '{"epochs": "many"}', '{"standings": 7}', "[]"])
def test_metrics_that_cannot_be_read_are_left_out_and_told(copy, content, caplog):
    folder = copy()
    (folder / "metrics.json").write_text(content, encoding="utf-8")
    assert load_model(folder).card().epochs == 0
    assert "the model is used without its metrics" in caplog.text


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**30, 1e30, -1, True, "0.5", None, [0.5], float("nan")])
def test_thresholds_and_curves_that_are_no_such_numbers_are_refused(copy, number):
    folder = copy()
    kept = (folder / "thresholds.json").read_text(encoding="utf-8")
    edit_json(folder, "thresholds.json", lambda content: content["thresholds"].update({"Tennis": number}))
    assert "thresholds.json: " in refused(folder)
    (folder / "thresholds.json").write_text(kept, encoding="utf-8")
    edit_json(folder, "thresholds.json", lambda content: content["calibration"].update(slopes=number))
    assert "thresholds.json: " in refused(folder)


def relabelled(change):
    def edit(folder):
        labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
        found = change(labels)
        write_json(folder, "labels.json", found)
        edit_json(folder, "thresholds.json", lambda content: content.update(thresholds=dict.fromkeys(found, 0.5)))
        one = {"slopes": 1.0, "intercepts": 0.0}
        return edit_json(folder, "thresholds.json", lambda content: content.update(calibration=one))

    return edit


LABELS = {
    "more": relabelled(lambda labels: {**labels, "Topics": 3}),
    "fewer": relabelled(lambda labels: dict(list(labels.items())[:-1])),
    "none": relabelled(lambda labels: {}),
    "unknown": relabelled(lambda labels: {**dict(list(labels.items())[:-1]), "Chess": 2}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", LABELS.values(), ids=LABELS.keys())
def test_other_labels_than_those_of_the_weights_are_refused(copy, kind, change):
    refused(change(copy(kind)))


def test_a_label_that_stands_twice_counts_once(copy):
    folder = copy()
    expected = predict(folder)
    path = folder / "labels.json"
    path.write_text(path.read_text(encoding="utf-8").replace("\n}", ',\n"Tennis": 1\n}'), encoding="utf-8")
    assert predict(sealed(folder)) == expected


def test_nodes_of_a_taxonomy_that_are_something_else_are_refused(copy):
    for node in (7, {"name": 7}, {"children": []}, {"name": "x", "children": "yz"}, {"name": "x", "titles": ["x"]}):
        folder = copy()
        edit_json(folder, "taxonomy.json", lambda nodes, node=node: nodes.append(node))
        assert "taxonomy.json: damaged" in refused(folder)
        shutil.rmtree(folder)


# Large taxonomies take a time that grows with the number of their labels.


def many_labels(folder, edges, names):
    """A model of many labels: the first have weights, the last is sure."""
    children = {}
    for parent, child in edges:
        children.setdefault(parent, []).append(child)
    everyone = dict.fromkeys(name for edge in edges for name in edge)
    write_json(folder, "taxonomy.json", [{"name": name, "children": children.get(name, [])} for name in everyone])
    write_json(folder, "labels.json", dict.fromkeys(names, 1))
    decision = {
        "hierarchy": "add-ancestors",
        "rule": "global",
        "calibration": {"slopes": 1.0, "intercepts": 0.0},
        "thresholds": dict.fromkeys(names, 0.9),
    }
    write_json(folder, "thresholds.json", decision)
    arrays = load_file(folder / "weights.safetensors")
    new = len(names) - len(arrays["intercept"])
    arrays["intercept"] = np.append(arrays["intercept"], np.full(new, -9, np.float32))
    arrays["intercept"][-1] = 9
    arrays["coef.indptr"] = np.append(arrays["coef.indptr"], np.full(new, arrays["coef.indptr"][-1]))
    save_file(arrays, folder / "weights.safetensors")
    return sealed(folder)


def test_a_long_chain_of_labels_takes_linear_time(copy):
    count = 5_000  # at 4,000, a time that grows with the square would be 18 s
    chain = [(f"c{n}", f"c{n + 1}") for n in range(count)]
    folder = many_labels(copy(), chain, [child for _, child in chain])
    start = time.process_time()
    (prediction,) = predict(folder)
    assert time.process_time() - start < 15
    assert len(prediction.labels) == count
    assert prediction.labels[0].paths == (("c1",),)


def test_many_labels_take_linear_time(copy):
    count = 20_000
    edges = [*(("all", f"p{n}") for n in range(100)), *((f"p{n % 100}", f"c{n}") for n in range(count))]
    folder = many_labels(copy(), edges, [child for _, child in edges])
    start = time.process_time()
    (prediction,) = predict(folder)
    assert time.process_time() - start < 20
    assert [one.label for one in prediction.labels] == [f"p{(count - 1) % 100}", f"c{count - 1}"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_replaced_and_told(saved, copy, device, caplog):
    _device.cache_clear()  # it is told once
    expected = predict(saved("network"))
    assert predict(edit_options(copy("network"), "training", device=device)) == expected
    assert f"training.device={device} is not available on this machine; cpu is used" in caplog.text
