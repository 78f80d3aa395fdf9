"""The limits of a server, and where they come from."""

import pytest

from taxocaps.errors import ConfigError
from taxocaps.web.answers import Refused
from taxocaps.web.limits import ServeConfig, check_lengths, resolve_serve_config


def test_defaults_then_a_file_then_overrides(tmp_path):
    (tmp_path / "a.yaml").write_text("graph: {window: 4}\nserve: {batch: 7, timeout: 2.5}\n")
    assert resolve_serve_config() == ServeConfig()
    found = resolve_serve_config(tmp_path / "a.yaml", ["serve.batch=9"])
    assert (found.batch, found.timeout, found.queue) == (9, 2.5, ServeConfig().queue)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("serve.bath=1", r"unknown configuration key serve\.bath; did you mean serve\.batch\?"),
        ("graph.window=3", "unknown configuration key graph"),
        ("serve.timeout=0", r"serve\.timeout must be from 0\.001"),
        ("serve.queue=3", r"serve\.queue must be at least serve\.documents, 256; got 3"),
    ],
)
def test_what_is_not_allowed(override, message):
    with pytest.raises(ConfigError, match=message):
        resolve_serve_config(overrides=[override])


def test_a_file_at_fault_is_named(tmp_path):
    (tmp_path / "a.toml").write_text('[serve]\nbatch = "many"\n')
    with pytest.raises(ConfigError, match=r"a\.toml: serve\.batch must be a whole number"):
        resolve_serve_config(tmp_path / "a.toml", ["serve.batch=9"])


def test_lengths():
    config = ServeConfig(text_length=4)
    check_lengths([{"text": "abcd"}, {"tokens": ["a", "b"]}, {"tokens": []}, {"text": None, "tokens": ["abc"]}], config)
    for documents, single, field in [
        ([{"text": "abcde"}], True, "text"),
        ([{"text": ""}, {"text": "abcde"}], False, "documents[1].text"),
        ([{"tokens": ["ab", "cd"]}], False, "documents[0].tokens"),
    ]:
        with pytest.raises(Refused) as refused:
            check_lengths(documents, config, single=single)
        assert (refused.value.status, refused.value.field) == (413, field)
