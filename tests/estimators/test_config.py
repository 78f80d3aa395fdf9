"""The configuration of a model: every section is there, under its own name, with its own defaults."""

import dataclasses

import pytest
from taxocaps.config import as_mapping, fingerprint, parse_override, resolve

from taxocaps.errors import ConfigError
from taxocaps.estimators.config import ModelConfig, used_options, used_sections
from taxocaps.text.vectors import VectorsConfig

SECTIONS = [field.name for field in dataclasses.fields(ModelConfig) if field.name != "family"]
CHANGES = {
    "labels": ("ancestors", "add"),
    "text": ("language", "de"),
    "bag": ("min_documents", 3),
    "linear": ("C", 2.5),
    "tokens": ("length", 7),
    "vocabulary": ("min_count", 3),
    "graph": ("window", 4),
    "vectors": ("dimension", 7),
    "network": ("units", 9),
    "loss": ("p", 0.25),
    "walks": ("length", 11),
    "label_vectors": ("window", 2),
    "training": ("epochs", 1),
    "decision": ("at_least", 1),
}


def test_the_sections_are_those_of_all_stages():
    assert set(SECTIONS) == set(CHANGES)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_called_what_its_messages_call_it(section):
    assert type(getattr(ModelConfig(), section)).section == section


@pytest.mark.parametrize("section", SECTIONS)
def test_one_change_changes_one_value(section):
    key, value = CHANGES[section]
    changed, usual = resolve(ModelConfig, {section: {key: value}}), ModelConfig()
    assert getattr(getattr(changed, section), key) == value != getattr(getattr(usual, section), key)
    put_back = dataclasses.replace(getattr(changed, section), **{key: getattr(getattr(usual, section), key)})
    assert dataclasses.replace(changed, **{section: put_back}) == usual
    assert fingerprint(changed) != fingerprint(usual)


@pytest.mark.parametrize("section", SECTIONS)
def test_bad_keys_and_values_are_named_in_full(section):
    with pytest.raises(ConfigError, match=rf"unknown configuration key {section}\.zzz"):
        resolve(ModelConfig, {section: {"zzz": 1}})
    with pytest.raises(ConfigError, match=rf"{section}\.{CHANGES[section][0]} must be"):
        resolve(ModelConfig, {section: {CHANGES[section][0]: [[]]}})


def test_vectors_are_learned_by_default_whatever_else_is_set():
    assert VectorsConfig().source == "none"
    assert ModelConfig().vectors.source == "skip-gram"
    wanted = dataclasses.replace(ModelConfig().vectors, dimension=7)
    assert resolve(ModelConfig, {"vectors": {"dimension": 7}}).vectors == wanted
    assert resolve(ModelConfig, parse_override("vectors.epochs=9")).vectors.source == "skip-gram"
    assert resolve(ModelConfig, {"vectors": {"source": "none"}}).vectors.source == "none"


def test_a_configuration_survives_a_file():
    config = resolve(ModelConfig, *({section: dict([change])} for section, change in CHANGES.items()))
    assert resolve(ModelConfig, as_mapping(config)) == config
    assert resolve(ModelConfig, as_mapping(ModelConfig())) == ModelConfig()


def test_a_model_reads_some_of_the_sections():
    everything = {"family", *SECTIONS}
    of_networks = {"vocabulary", "vectors", "network", "loss", "walks", "label_vectors"}
    assert used_sections(ModelConfig()) == everything - {"bag", "linear", "tokens"}
    lstm = resolve(ModelConfig, {"network": {"kind": "lstm"}})
    assert used_sections(lstm) == everything - {"bag", "linear", "graph"}
    characters = resolve(ModelConfig, {"network": {"kind": "vdcnn"}, "tokens": {"unit": "characters"}})
    assert used_sections(characters) == used_sections(lstm) - {"text"}
    assert used_sections(ModelConfig(family="linear")) == everything - of_networks - {"graph", "tokens"}
    assert set(used_options(lstm)) == used_sections(lstm)
    assert resolve(ModelConfig, used_options(lstm)) == lstm
