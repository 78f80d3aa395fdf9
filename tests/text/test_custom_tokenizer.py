import sys

import pytest

from taxocaps.errors import TextError
from taxocaps.text.tokenizers import custom_tokenizer

SOURCE = """
SIZE = 3

def thirds(text):
    return (text[i : i + SIZE] for i in range(0, len(text), SIZE))

def text(text): return text
def numbers(text): return [1, 2]
def nothing(text): return None
def fails(text): raise KeyError("lost")
def empty(text): return ["a", "", "b"]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "own_tokens.py").write_text(SOURCE)
    (tmp_path / "broken_tokens.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_tokens"
    sys.modules.pop("own_tokens", None)


def test_any_iterable_of_words(module):
    assert custom_tokenizer(f"{module}:thirds")("abcdefgh") == ["abc", "def", "gh"]


def test_empty_words_are_left_out(module):
    assert custom_tokenizer(f"{module}:empty")("") == ["a", "b"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("text", "own_tokens:text must give a list of words; got str"),
        ("numbers", "own_tokens:numbers must give a list of words; one is 1"),
        ("nothing", "own_tokens:nothing failed: TypeError: 'NoneType' object is not iterable"),
        ("fails", "own_tokens:fails failed: KeyError: 'lost'"),
    ],
)
def test_what_is_not_words(module, function, message):
    tokenize = custom_tokenizer(f"{module}:{function}")
    with pytest.raises(TextError) as caught:
        tokenize("some text")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_tokens:third", r"has no function 'third'; did you mean own_tokens:thirds\?"),
        ("own_tokens:SIZE", r"has no function 'SIZE'; it has thirds, text, numbers, nothing, fails, empty"),
        (
            "no_such_module:f",
            r"cannot be imported: ModuleNotFoundError: No module named 'no_such_module'; .*PYTHONPATH",
        ),
        ("broken_tokens:f", r"cannot be imported: ZeroDivisionError: division by zero"),
        (".relative:f", r"cannot be imported"),
    ],
)
def test_what_cannot_be_imported(module, name, message):
    with pytest.raises(TextError, match=message):
        custom_tokenizer(name)
