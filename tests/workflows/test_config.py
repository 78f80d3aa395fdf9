"""One configuration for every command: defaults, preset, file, --set and options, in this order."""

import itertools
import json

import jsonschema_rs
import pytest
import yaml

from taxocaps.catalogue import DEFAULT_MODEL
from taxocaps.catalogue.models import MODELS
from taxocaps.catalogue.presets import PRESETS, model_config
from taxocaps.errors import ConfigError
from taxocaps.workflows.config import (
    config_schema,
    resolve_corpus_config,
    resolve_encode_config,
    resolve_graph_config,
    resolve_run_config,
)


def graph_of(config):
    return config.encodings["words-matrix"]


def test_file_then_overrides_then_options(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("model = 'HE-AGCRCNN'\n[graph]\nwindow = 4\nN = 50\nK = 9\n")
    given = (file, ["graph.N=60", "graph.K=8"], {"graph.K": 7, "corpus.text_field": "body"})
    for config, graph in (
        (resolve_run_config(*given), resolve_run_config(*given).options.graph),
        (resolve_encode_config(*given), graph_of(resolve_encode_config(*given))),
    ):
        assert (graph.window, graph.N, graph.K) == (4, 60, 7)
        assert config.corpus.text_field == "body"


def test_options_in_python_have_two_underscores_for_the_dot():
    options = resolve_run_config(options={"graph__window": 4, "model": "tgcnn", "seed": 3})
    assert (options.options.graph.window, options.model, options.seed) == (4, "TGCNN", 3)


@pytest.mark.parametrize("resolve", [resolve_run_config, resolve_encode_config])
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("graph.windows=3", r"unknown configuration key graph\.windows; did you mean graph\.window\?"),
        ("corpus.txt_field=x", r"unknown configuration key corpus\.txt_field; did you mean corpus\.text_field\?"),
        ("graph=3", r"graph is a section of keys; got '3'"),
        ("graph.distance=far", r"graph\.distance must be one of hops, count, inverse-count; got 'far'"),
        ("graph.window=1", r"graph\.window must be from 2 to 1000; got '1'"),
        ("text.language=[de]", r"text\.language must be text; got \['de'\]"),
    ],
)
def test_a_bad_key_or_value_is_named(resolve, override, message):
    with pytest.raises(ConfigError, match=message):
        resolve(overrides=["model=HE-AGCRCNN", override])


def test_unknown_keys_of_the_model_name_the_nearest():
    for override, nearest in {"trainin.epochs=3": "training", "training.epoch=3": r"training\.epochs"}.items():
        with pytest.raises(ConfigError, match=rf"did you mean {nearest}\?"):
            resolve_run_config(overrides=["model=HE-AGCRCNN", override])
    with pytest.raises(ConfigError, match=r"unknown configuration key linear\.c; did you mean linear\.C\?"):
        resolve_run_config(overrides=["linear.c=3"], options={"model": "SVM"})


def test_an_unknown_key_may_be_one_of_those_beside_the_options():
    for override, nearest in {"sead=3": "seed", "modle=SVM": "model", "presett=fast": "preset"}.items():
        with pytest.raises(ConfigError, match=rf"did you mean {nearest}\?$"):
            resolve_run_config(overrides=[override])
    with pytest.raises(ConfigError, match=r"did you mean taxonomy\?$"):
        resolve_run_config(options={"taxonmy": "labels.tsv"}, beside=["taxonomy"])


@pytest.mark.parametrize(
    ("resolve", "override", "allowed"),
    [
        (resolve_graph_config, "training.epochs=3", "for HE-AGCRCNN it has model, preset, seed, corpus, text, graph"),
        (resolve_graph_config, "network.units=9", "for HE-AGCRCNN it has model, preset, seed, corpus, text, graph"),
        (resolve_graph_config, "trainin.epochs=3", "for HE-AGCRCNN it has model, preset, seed, corpus, text, graph"),
        (resolve_encode_config, "graph.window=3", "for auto it has model, preset, seed, corpus, text"),
        (resolve_corpus_config, "graph.window=3", "it has corpus"),
        (resolve_corpus_config, "model=SVM", "it has corpus"),
    ],
)
def test_sections_that_a_command_does_not_read_are_refused(resolve, override, allowed):
    section = override.split("=")[0].split(".")[0]
    with pytest.raises(ConfigError, match=f"^this command has no options {section}; {allowed}$"):
        resolve(overrides=[override])


def test_one_file_serves_all_commands(tmp_path):
    file = tmp_path / "run.yaml"
    config = resolve_run_config(
        overrides=["model=HE-AGCRCNN", "graph.window=5", "training.epochs=3", "corpus.text_field=body"],
        options={"seed": 7},
    )
    file.write_text(config.as_yaml() + "serve: {batch: 8}\n")
    assert resolve_run_config(file) == config
    encode = resolve_encode_config(file)
    assert (encode.corpus, encode.text, encode.encodings) == (
        config.corpus,
        config.options.text,
        config.options.encodings,
    )
    assert resolve_corpus_config(file) == config.corpus
    assert graph_of(resolve_encode_config(file, ["graph.N=9"])).N == 9


@pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
def test_what_encodes_for_a_model_reads_documents_as_the_model_does(model):
    for preset in PRESETS if model.has_presets else ("default",):
        run = resolve_run_config(options={"model": model.name, "preset": preset}).options
        encode = resolve_encode_config(options={"model": model.name.lower(), "preset": preset})
        assert (encode.text, encode.encodings) == (run.text, run.encodings)


def test_a_mistake_in_a_file_names_the_file(tmp_path):
    (tmp_path / "run.yaml").write_text("text:\n  language: no\n")
    for resolve in (resolve_run_config, resolve_encode_config):
        with pytest.raises(ConfigError, match=r"run\.yaml: text\.language must be .*text; got False"):
            resolve(tmp_path / "run.yaml")
    (tmp_path / "run.yaml").write_text("model: HAN\ntraining:\n  epoch: 3\n")
    with pytest.raises(ConfigError, match=r"run\.yaml: unknown configuration key training\.epoch; did you mean"):
        resolve_run_config(tmp_path / "run.yaml")
    (tmp_path / "run.yaml").write_text("corpus:\n  split: [a]\n")
    with pytest.raises(ConfigError, match=r"run\.yaml: corpus\.split must be text; got \['a'\]"):
        resolve_corpus_config(tmp_path / "run.yaml")


@pytest.mark.parametrize(
    ("model", "preset"),
    [*itertools.product(["HE-AGCRCNN", "tgcnn(no-r)", "HAN"], PRESETS), ("SVM", "default"), ("auto", "default")],
)
def test_the_written_configuration_reads_back(tmp_path, preset, model):
    config = resolve_run_config(options={"preset": preset, "model": model, "seed": 5, "text.language": "de"})
    (tmp_path / "run.yaml").write_text(config.as_yaml())
    assert resolve_run_config(tmp_path / "run.yaml") == config


def test_a_configuration_shows_what_its_model_reads():
    config = resolve_run_config(overrides=["bag.min_documents=3"], options={"model": "svm"})
    shown = yaml.safe_load(config.as_yaml())
    assert shown == config.as_mapping()
    assert list(shown) == [
        *("model", "preset", "seed", "corpus", "scorer", "labels", "text", "folds", "validation", "decision"),
        *("bag", "linear"),
    ]
    assert shown["bag"]["min_documents"] == 3


def test_a_file_is_read_for_the_model_that_is_asked_for(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("network: {bottleneck: 64}")
    assert resolve_run_config(file, options={"model": "XML-CNN"}).options.network.bottleneck == 64
    with pytest.raises(ConfigError, match=r"run\.yaml: unknown configuration key network\.bottleneck"):
        resolve_run_config(file, options={"model": "HE-AGCRCNN"})


def test_a_run_begins_with_its_preset_and_its_model(tmp_path):
    config = resolve_run_config(options={"preset": "paper-rcv1", "model": "gccnn"}).options
    assert (config.graph.N, config.graph.T, config.network.channels) == (100, 20, 64)
    assert (config.network.recurrent, config.network.head, config.loss.label_weights) == ("none", "capsule", "uniform")
    file = tmp_path / "run.toml"
    file.write_text('preset = "paper-rcv1"\nmodel = "GCCNN"\n[graph]\nN = 50\nT = 19\n')
    config = resolve_run_config(file, ["graph.T=18"], {"preset": "paper-eurlex"})
    assert (config.preset, config.model) == ("paper-eurlex", "GCCNN")
    assert (config.options.graph.N, config.options.graph.T, config.options.network.compress) == (50, 18, 128)


def test_without_any_option_the_default_model_has_its_defaults():
    config = resolve_run_config()
    assert (config.model, config.preset, config.seed) == (DEFAULT_MODEL, "default", 0)
    assert config.options == model_config(DEFAULT_MODEL, "default")


def test_every_model_can_be_asked_for_by_its_name_in_any_case():
    for model in MODELS:
        options = resolve_run_config(options={"model": model.name.lower()}).options.as_mapping()
        for section, values in model.axes.items():
            decided = json.loads(json.dumps(values))
            found = options[section]
            assert ({key: found[key] for key in decided} if isinstance(decided, dict) else found) == decided


def test_what_contradicts_the_model_is_refused():
    with pytest.raises(ConfigError, match=r"network\.head=dense contradicts the model GCCNN, which has capsule"):
        resolve_run_config(overrides=["network.head=dense"], options={"model": "gccnn"})
    for resolve in (resolve_run_config, resolve_encode_config):
        with pytest.raises(ConfigError, match=r"no model is called 'GCCN'; did you mean GCCNN\?"):
            resolve(overrides=["model=GCCN"])
        with pytest.raises(ConfigError, match=r"no preset is called 'fats'; did you mean fast\?"):
            resolve(overrides=["preset=fats"])


def test_a_graph_is_read_as_by_the_default_network_or_by_the_one_that_is_named(tmp_path):
    assert resolve_graph_config() == resolve_encode_config(options={"model": "HE-AGCRCNN"})
    named = {"model": "tgcnn(no-r)", "preset": "fast"}
    assert resolve_graph_config(options=named) == resolve_encode_config(options=named)
    file = tmp_path / "run.yaml"
    file.write_text("model: TGCNN(No-R)\n")
    assert graph_of(resolve_graph_config(file)).row_order == "unordered"
    assert graph_of(resolve_graph_config(file, ["model=GCCNN"])).row_order == "ordered"


@pytest.mark.parametrize("model", ["auto", "SVM", "HAN"])
def test_a_model_without_graphs_is_passed_over_in_a_file_and_refused_elsewhere(tmp_path, model):
    file = tmp_path / "run.yaml"
    file.write_text(resolve_run_config(options={"model": model, "text.language": "de"}).as_yaml())
    assert resolve_graph_config(file) == resolve_graph_config(options={"text.language": "de"})
    message = f"^{model} reads no graph of words; name a model that does, such as --model HE-AGCRCNN$"
    for given in ((None, [f"model={model}"]), (None, (), {"model": model})):
        with pytest.raises(ConfigError, match=message):
            resolve_graph_config(*given)


def test_what_a_model_to_start_from_is_counts_where_nothing_is_named(toy_model):
    config = resolve_run_config(options={"training.epochs": 7}, start=toy_model)
    assert (config.model, config.preset, config.options.training.epochs) == ("HE-AGCRCNN", "default", 7)
    assert config.given == {"training": {"epochs": 7}}
    assert resolve_run_config(options={"model": "SVM"}, start=toy_model).model == "SVM"


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, "x"])
def test_seeds_are_whole_numbers_that_every_library_takes(seed):
    with pytest.raises(ConfigError, match="seed must be"):
        resolve_run_config(options={"seed": seed})


def every_property(schema):
    definitions = schema["$defs"]
    for name, about in schema["properties"].items():
        yield name, about
        parts = [about, *about.get("allOf", ()), *about.get("anyOf", ()), *about.get("oneOf", ())]
        for part in parts:
            if "$ref" in part:
                section = definitions[part["$ref"].rpartition("/")[2]]
                for key, value in section.get("properties", {}).items():
                    yield f"{name}.{key}", value


@pytest.mark.parametrize("model", ["SVM", "HE-AGCRCNN", "HAN"])
def test_the_schema_describes_every_option_of_a_model(model):
    schema = config_schema(model)
    found = dict(every_property(schema))
    for section, values in resolve_run_config(options={"model": model}).as_mapping().items():
        assert section in found
        for key in values if isinstance(values, dict) else ():
            assert f"{section}.{key}" in found
    undescribed = [name for name, about in found.items() if not about.get("description")]
    assert undescribed == []


@pytest.mark.parametrize("model", ["SVM", "HE-AGCRCNN", "HAN"])
def test_what_is_written_is_valid_by_its_schema(model):
    schema = config_schema(model)
    validator = jsonschema_rs.Draft202012Validator(schema)  # refuses what is no schema
    written = yaml.safe_load(resolve_run_config(options={"model": model}).as_yaml())
    assert [error.message for error in validator.iter_errors(written)] == []
    assert not validator.is_valid({**written, "nonsense": 1})
    assert not validator.is_valid({**written, "text": {"language": 7}})


def test_a_schema_names_no_parts_of_the_program():
    text = json.dumps(config_schema("HE-AGCRCNN"))
    shown = json.loads(text)
    titles = [part["title"] for part in shown["$defs"].values() if "title" in part]
    assert not [title for title in titles if title.endswith("Config")]
    for word in ("READERS", "load_vectors", "NETWORKS"):
        assert word not in text
