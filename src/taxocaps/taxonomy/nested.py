"""Taxonomies as nested JSON, YAML or Python mappings, of plain labels or of nodes with a label, its names and children.

Plain labels: ``{"Root": {"A": ["A1", "A2"], "B": null}}``. Nodes: ``{"name": "Root", "children": [{"name": "A"}]}``.
Both may be mixed, and several roots are in a list or in one mapping. A label with several parents is given below each
of them; its children are given in full in one of these places, and in the others in full again or not at all. So a flat
mapping of parents to children, ``{"Root": ["A", "B"], "A": ["A1", "A2"]}``, is read as well.

A node may have a `title`, `titles` by language, and `alternatives`, `hidden` names and `notation`, each a list or a
mapping of languages to lists; the language "" stands for none.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taxocaps.files import read_text
from taxocaps.taxonomy.problems import ScanBuilder, TaxonomyScan
from taxocaps.taxonomy.statements import encoding_remedy
from taxocaps.taxonomy.terms import Term, TermKind

__all__ = [
    "TERM_KEYS",
    "ListNode",
    "MappingNode",
    "MarkupError",
    "Node",
    "Scalar",
    "attribute_terms",
    "parse_json",
    "parse_yaml",
    "scan_mapping",
    "scan_nested",
]

TERM_KEYS: Mapping[str, TermKind] = {
    "title": "preferred",
    "titles": "preferred",
    "alternatives": "alternative",
    "hidden": "hidden",
    "notation": "notation",
}
"""The keys of a node that give names of its label."""

_NODE_KEYS = ("name", *TERM_KEYS, "children")

_DEPTH = 1_000
"""Maximum nesting; deeper input would need too much stack."""

_TOO_DEEP = "nested too deep; write this taxonomy as parent<TAB>child lines"

_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^\s\[\]{},:"]+')


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A string, number or truth value as it is written in the file; None is null."""

    line: int
    text: str | None


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """A list."""

    line: int
    items: list["Node"] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class MappingNode:
    """A mapping; `items` alternates keys and values, including repeated keys."""

    line: int
    items: list["Node"] = field(default_factory=list)

    def pairs(self) -> list[tuple["Node", "Node"]]:
        """The keys with their values."""
        return list(zip(self.items[::2], self.items[1::2], strict=True))


Node = Scalar | ListNode | MappingNode

_NULL = Scalar(0, None)


class MarkupError(Exception):
    """Text that is not valid JSON or YAML."""

    def __init__(self, line: int, message: str) -> None:
        """Keep the line of the error."""
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class _Entry:
    """A label with its line in the file, its names and the node of its children."""

    line: int
    name: str
    terms: tuple[Term, ...] = ()
    children: Node | None = None


def scan_nested(path: Path, encoding: str, parse: Callable[[str], Node]) -> TaxonomyScan:
    """Read a nested file.

    Args:
        path: The file.
        encoding: Its encoding.
        parse: `parse_json` or `parse_yaml`.
    """
    scan = ScanBuilder()
    text = read_text(path, encoding, remedy=encoding_remedy(path))
    try:
        if text.strip():
            _walk(parse(text), scan)
    except MarkupError as error:
        scan.add_problem(error.line, str(error))
    return scan.finish()


def scan_mapping(labels: Mapping[Any, Any]) -> TaxonomyScan:
    """Read a Python mapping of the same form as a nested file; problems have no lines."""
    scan = ScanBuilder()
    _walk(_to_node(labels), scan)
    return scan.finish()


def _to_node(value: Any) -> Node:
    """A Python value as a node; containers inside themselves are allowed, as YAML's aliases are."""
    top = ListNode(0)
    nodes: dict[int, tuple[Node, Any]] = {}  # the values too: the id of a discarded one may be used again
    waiting: list[tuple[Any, ListNode | MappingNode]] = [(value, top)]
    while waiting:
        item, parent = waiting.pop()
        if id(item) in nodes:
            node = nodes[id(item)][0]
        else:
            node = _shell(item)
            if not isinstance(node, Scalar):
                nodes[id(item)] = node, item
                waiting.extend((part, node) for part in reversed(_parts(item)))
        parent.items.append(node)
    return top.items[0]


def _shell(value: Any) -> Node:
    """The node of a value, still without its items."""
    if isinstance(value, Mapping):
        return MappingNode(0)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ListNode(0)
    return Scalar(0, None if value is None else str(value))


def _parts(value: Any) -> list[Any]:
    """The keys and values of a mapping by turns, or the items of a list; sets have no order, so they are sorted."""
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    return sorted(value, key=str) if isinstance(value, Set) else list(value)


def _walk(top: Node, scan: ScanBuilder) -> None:
    """Add every label below its parent, in file order."""
    waiting: list[tuple[_Entry | None, Node]] = [(None, top)]
    families: dict[str, tuple[int, set[str]]] = {}
    # Through aliases a YAML node can be in several places, even inside itself.
    seen: set[tuple[str | None, int]] = set()
    while waiting:
        parent, node = waiting.pop()
        above = parent.name if parent else None
        if (above, id(node)) in seen:
            continue
        seen.add((above, id(node)))
        entries = _entries(node, scan)
        if parent is None or _is_first_mention(parent, entries, families, scan):
            for entry in entries:
                scan.add(above, entry.name, entry.line, entry.terms)
        below = [(entry, entry.children) for entry in entries if entry.children and entry.name.strip()]
        waiting.extend(reversed(below))


def _is_first_mention(
    parent: _Entry, entries: list[_Entry], families: dict[str, tuple[int, set[str]]], scan: ScanBuilder
) -> bool:
    """Whether the children of `parent` are given for the first time; if not, they must be the same as before."""
    names = {entry.name for entry in entries}
    if not names:
        return False
    line, known = families.setdefault(parent.name, (parent.line, names))
    if known != names:
        odd = ", ".join(map(repr, sorted(known ^ names)[:5]))
        where = f"on line {line}" if line else "before"
        scan.add_problem(
            parent.line,
            f"the label {parent.name!r} has other children than {where} (not in both: "
            f"{odd}); give the same children, or none here, or another name if it is another label",
        )
    return known is names


def _entries(node: Node, scan: ScanBuilder) -> list[_Entry]:
    """The labels directly in a node."""
    if isinstance(node, Scalar):
        return [] if node.text is None else [_Entry(node.line, node.text)]
    if isinstance(node, MappingNode):
        return _node_entries(node, scan) if _is_label_node(node) else _key_entries(node, scan)
    entries = []
    for item in node.items:
        if isinstance(item, ListNode):
            scan.add_problem(item.line, "a list directly inside a list; give the inner one a label")
        elif isinstance(item, Scalar) and item.text is None:
            scan.add_problem(item.line, 'blank label name; if the label is called null, write "null"')
        else:
            entries += _entries(item, scan)
    return entries


def _key_entries(node: MappingNode, scan: ScanBuilder) -> list[_Entry]:
    """The labels of a mapping from names to children."""
    entries = []
    for key, value in node.pairs():
        if isinstance(key, Scalar) and key.text is not None:
            entries.append(_Entry(key.line, key.text, children=value))
        else:
            scan.add_problem(key.line, "a key is null, a list or a mapping; a label's name must be text")
    return entries


def _is_label_node(node: MappingNode) -> bool:
    """Whether a mapping is one label, with its `name` and perhaps more, rather than names with their children."""
    values = {key.text: value for key, value in node.pairs() if isinstance(key, Scalar)}
    return "name" in values and (_text(values["name"]) is not None or "children" in values)


def _node_entries(node: MappingNode, scan: ScanBuilder) -> list[_Entry]:
    """The one label of a node with the keys `name`, `children` and those of `TERM_KEYS`."""
    values: dict[str, Node] = {}
    for key, value in node.pairs():
        text = _text(key)
        if text not in _NODE_KEYS:
            scan.add_problem(key.line, f"unknown key {text!r} beside `name`; allowed: {', '.join(_NODE_KEYS)}")
        elif text in values:
            scan.add_problem(key.line, f"the key `{text}` is given twice for one label; keep one")
        else:
            values[text] = value
    name = _text(values["name"])
    if name is None:
        scan.add_problem(node.line, "the `name` of a label must be text")
        return []
    return [_Entry(node.line, name, tuple(_terms(values, scan)), values.get("children"))]


def attribute_terms(attributes: Mapping[str, Any], scan: ScanBuilder) -> list[Term]:
    """The names of a label in a mapping with the keys of `TERM_KEYS`; others are ignored."""
    values = {key: _to_node(attributes[key]) for key in TERM_KEYS if attributes.get(key) is not None}
    return list(_terms(values, scan))


def _terms(values: Mapping[str, Node], scan: ScanBuilder) -> Iterator[Term]:
    """The names of a label from the values of its node."""
    for key, kind in TERM_KEYS.items():
        node = values.get(key, _NULL)
        if isinstance(node, Scalar) and node.text is None:
            continue
        if key == "title" and not isinstance(node, Scalar):
            scan.add_problem(node.line, "the `title` of a label must be text")
        elif key == "titles" and not isinstance(node, MappingNode):
            scan.add_problem(node.line, "the `titles` of a label must be a mapping of languages to names")
        else:
            languages = node.pairs() if isinstance(node, MappingNode) else [(Scalar(node.line, ""), node)]
            for language, texts in languages:
                yield from _terms_in(_text(language), texts, key, kind, scan)


def _terms_in(language: str | None, texts: Node, key: str, kind: TermKind, scan: ScanBuilder) -> Iterator[Term]:
    """The names in one language: a text or, unless they are titles, a list of texts."""
    items = texts.items if isinstance(texts, ListNode) and kind != "preferred" else [texts]
    for item in items:
        if language is None or not isinstance(item, Scalar):
            allowed = "a name" if kind == "preferred" else "a name or a list of names"
            scan.add_problem(texts.line, f"`{key}` must give {allowed}, or a mapping of languages to such values")
            return
        if item.text:
            yield Term(item.text, kind, language or None)


def _text(node: Node | None) -> str | None:
    return node.text if isinstance(node, Scalar) else None


def parse_json(text: str) -> Node:
    """Read JSON.

    Raises:
        MarkupError: If the text is not valid JSON.

    >>> parse_json('{"a": [1.50, null]}').pairs()[0][1].items
    [Scalar(line=1, text='1.50'), Scalar(line=1, text=None)]
    """
    try:
        # The standard library checks the syntax, so the tokens below need no checks.
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise MarkupError(_within(text, error.lineno), f"not valid JSON: {error.msg}") from error
    except RecursionError:
        raise MarkupError(1, _TOO_DEEP) from None
    top = ListNode(1)
    _build(_json_steps(text), top)
    return top.items[0]


def parse_yaml(text: str) -> Node:
    """Read YAML with at most one document; an empty text is null.

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
    """The line, or the last one: at an unexpected end parsers report the line after it."""
    return min(line, text.rstrip().count("\n") + 1)


def _build(steps: Iterable[tuple[Node | None, bool]], top: ListNode) -> None:
    """Build the tree from (node, whether the next nodes are inside it); None instead of a node closes the innermost."""
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
        return str(json.loads(token)) if "\\" in token else token[1:-1]
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
        raise MarkupError(line, "YAML's merge key << is not supported; write the labels out")
    return Scalar(line, None if is_plain and event.value in ("", "~", "null", "Null", "NULL") else event.value)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
