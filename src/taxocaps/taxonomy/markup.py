"""JSON and YAML read into one small tree that keeps line numbers and every scalar as it is written."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ListNode", "MappingNode", "MarkupError", "Node", "Scalar", "parse_json", "parse_yaml"]

_DEPTH = 1_000
"""Deeper nesting is refused: parsers need time or stack that grows faster than the file."""

_TOO_DEEP = "nested too deep; write such a taxonomy as parent<TAB>child lines"

_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^\s\[\]{},:"]+')


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A string, number or truth value as it is written; None stands for null."""

    line: int
    text: str | None


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """A list."""

    line: int
    items: list["Node"] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class MappingNode:
    """A mapping; `items` holds its keys and values by turns, repeated keys included."""

    line: int
    items: list["Node"] = field(default_factory=list)

    def pairs(self) -> list[tuple["Node", "Node"]]:
        """The keys with their values."""
        return list(zip(self.items[::2], self.items[1::2], strict=True))


Node = Scalar | ListNode | MappingNode


class MarkupError(Exception):
    """Text that is not well formed."""

    def __init__(self, line: int, message: str) -> None:
        """Say what is wrong, and on which line."""
        super().__init__(message)
        self.line = line


def parse_json(text: str) -> Node:
    """Read JSON.

    Raises:
        MarkupError: If the text is not valid JSON.

    >>> parse_json('{"a": [1.50, null]}').pairs()[0][1].items
    [Scalar(line=1, text='1.50'), Scalar(line=1, text=None)]
    """
    try:
        # The standard library decides what is valid; the tokens below can then be taken as they come.
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise MarkupError(_within(text, error.lineno), f"not valid JSON: {error.msg}") from error
    except RecursionError:
        raise MarkupError(1, _TOO_DEEP) from None
    top = ListNode(1)
    _build(_json_steps(text), top)
    return top.items[0]


def parse_yaml(text: str) -> Node:
    """Read YAML, of which only one document may stand in the text; an empty text is null.

    Raises:
        MarkupError: If the text is not valid YAML.

    >>> parse_yaml("no: &x [2020, ~]").pairs()[0][0]
    Scalar(line=1, text='no')
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    top = ListNode(1)
    try:
        _build(_yaml_steps(yaml.parse(text, Loader=loader)), top)
    except yaml.reader.ReaderError as error:
        line = text.encode("utf-8")[: error.position].count(b"\n") + 1
        raise MarkupError(line, f"not valid YAML: the character #x{error.character:04x} is not allowed") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise MarkupError(_within(text, line), f"not valid YAML: {error.problem}") from error
    if len(top.items) > 1:
        raise MarkupError(top.items[1].line, "a second YAML document; keep one in a file")
    return top.items[0] if top.items else Scalar(1, None)


def _within(text: str, line: int) -> int:
    """The line, or the last one: parsers that meet the end too early name the line after it."""
    return min(line, text.rstrip().count("\n") + 1)


def _build(steps: Iterable[tuple[Node | None, bool]], top: ListNode) -> None:
    """Put nodes into each other: each with whether what follows stands inside it; no node ends the innermost one."""
    stack: list[ListNode | MappingNode] = [top]
    for node, opens in steps:
        if node is None:
            stack.pop()
            continue
        stack[-1].items.append(node)
        if opens and not isinstance(node, Scalar):
            stack.append(node)
        if len(stack) > _DEPTH:
            raise MarkupError(node.line, _TOO_DEEP)


def _json_steps(text: str) -> Iterator[tuple[Node | None, bool]]:
    line, counted = 1, 0
    for match in _JSON_TOKEN.finditer(text):
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        token = match.group()
        if token in ("]", "}"):
            yield None, False
        elif token in ("[", "{"):
            yield ListNode(line) if token == "[" else MappingNode(line), True
        else:
            yield Scalar(line, _json_scalar(token)), False


def _json_scalar(token: str) -> str | None:
    if token.startswith('"'):
        return str(json.loads(token))
    return None if token == "null" else token


def _yaml_steps(events: Iterable[Any]) -> Iterator[tuple[Node | None, bool]]:
    import yaml

    anchors: dict[str, Node] = {}
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            yield None, False
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise MarkupError(_line(event), f"not valid YAML: *{event.anchor} is not defined above")
            yield anchors[event.anchor], False
        elif isinstance(event, yaml.NodeEvent):
            node = _yaml_node(event)
            if event.anchor:
                anchors[event.anchor] = node
            yield node, True


def _yaml_node(event: Any) -> Node:
    import yaml

    line = _line(event)
    if isinstance(event, yaml.SequenceStartEvent):
        return ListNode(line)
    if isinstance(event, yaml.MappingStartEvent):
        return MappingNode(line)
    is_plain = event.implicit[0]
    if is_plain and event.value == "<<":
        raise MarkupError(line, "YAML's merge key << is not read here; write the labels out")
    return Scalar(line, None if is_plain and event.value in ("", "~", "null", "Null", "NULL") else event.value)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
