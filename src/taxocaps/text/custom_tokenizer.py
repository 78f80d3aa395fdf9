"""A user's own tokenizer, named as `module:function`."""

import difflib
import importlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from taxocaps.errors import TextError

__all__ = ["code_of", "custom_tokenizer"]


def custom_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Import the function `module:function`, from a text to its words, and check what it gives.

    Raises:
        TextError: When it cannot be imported; the returned function raises it when the user's function fails or gives
            something other than words.
    """
    function = _imported(name)

    def words(text: str) -> list[str]:
        try:
            result = function(text)
            tokens = result if isinstance(result, str) else list(result)
        except Exception as error:
            raise TextError(f"tokenizer {name} failed: {type(error).__name__}: {error}") from error
        return _checked(tokens, name)

    return words


def code_of(name: str) -> str:
    """The source of the module that holds the tokenizer, by which a change of it is noticed; empty if it has none."""
    origin = getattr(importlib.import_module(name.partition(":")[0]), "__file__", None)
    return Path(origin).read_text(encoding="utf-8", errors="replace") if origin and origin.endswith(".py") else ""


def _imported(name: str) -> Callable[[str], Iterable[Any]]:
    module_name, _, function_name = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise TextError(
            f"text.tokenizer: the module of {name!r} cannot be imported: {type(error).__name__}: {error}; "
            "is its folder on PYTHONPATH?"
        ) from error
    function: object = getattr(module, function_name, None)
    if callable(function):
        return function
    functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    nearest = difflib.get_close_matches(function_name, functions, n=1)
    hint = f"; did you mean {module_name}:{nearest[0]}?" if nearest else f"; it has {', '.join(functions) or 'none'}"
    raise TextError(f"text.tokenizer: the module {module_name!r} has no function {function_name!r}{hint}")


def _checked(tokens: object, name: str) -> list[str]:
    if not isinstance(tokens, list):
        raise TextError(f"tokenizer {name} must give a list of words; got {type(tokens).__name__}")
    strange = next((token for token in tokens if not isinstance(token, str)), None)
    if strange is not None:
        raise TextError(f"tokenizer {name} must give a list of words; one is {strange!r}")
    return [token for token in tokens if token]
