"""Taxonomies as nested JSON or YAML, of plain names or of nodes with a name, a title and children.

Plain names: ``{"Root": {"A": ["A1", "A2"], "B": null}}``. Nodes: ``{"name": "Root", "children": [{"name": "A"}]}``.
Both may be mixed, and several roots stand in a list or in one mapping. A label with several parents stands below each
of them; its children are given in full at one of these places, and at the others in full again or not at all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from taxocaps.files import read_text
from taxocaps.taxonomy.markup import ListNode, MappingNode, MarkupError, Node, Scalar
from taxocaps.taxonomy.scan import ScanBuilder, TaxonomyScan

__all__ = ["scan_nested"]

_NODE_KEYS = ("name", "title", "children")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A label where it stands in the file, and the node that holds its children."""

    line: int
    name: str
    title: str = ""
    children: Node | None = None


def scan_nested(path: Path, encoding: str, parse: Callable[[str], Node]) -> TaxonomyScan:
    """Read a nested file.

    Args:
        path: The file.
        encoding: Its encoding.
        parse: `parse_json` or `parse_yaml`.
    """
    scan = ScanBuilder()
    text = read_text(path, encoding)
    try:
        if text.strip():
            _walk(parse(text), scan)
    except MarkupError as error:
        scan.problem(error.line, str(error))
    return scan.finish()


def _walk(top: Node, scan: ScanBuilder) -> None:
    """State every label below its parent, in file order."""
    waiting: list[tuple[_Entry | None, Node]] = [(None, top)]
    families: dict[str, tuple[int, set[str]]] = {}
    # By aliases a YAML node can stand in several places, even inside itself.
    seen: set[tuple[str | None, int]] = set()
    while waiting:
        parent, node = waiting.pop()
        above = parent.name if parent else None
        if (above, id(node)) in seen:
            continue
        seen.add((above, id(node)))
        entries = _entries(node, scan)
        if parent is None or _is_first_family(parent, entries, families, scan):
            for entry in entries:
                scan.state(above, entry.name, entry.line, entry.title)
        below = [(entry, entry.children) for entry in entries if entry.children and entry.name.strip()]
        waiting.extend(reversed(below))


def _is_first_family(
    parent: _Entry, entries: list[_Entry], families: dict[str, tuple[int, set[str]]], scan: ScanBuilder
) -> bool:
    """Whether the children of `parent` are stated here for the first time; if not, they must be the same as before."""
    names = {entry.name for entry in entries}
    if not names:
        return False
    line, known = families.setdefault(parent.name, (parent.line, names))
    if known != names:
        odd = ", ".join(map(repr, sorted(known ^ names)[:5]))
        scan.problem(
            parent.line,
            f"the label {parent.name!r} has other children than on line {line} (not in both: {odd}); "
            "give the same children, or none here, or another name if it is another label",
        )
    return known is names


def _entries(node: Node, scan: ScanBuilder) -> list[_Entry]:
    """The labels that stand directly in a node."""
    if isinstance(node, Scalar):
        return [] if node.text is None else [_Entry(node.line, node.text)]
    if isinstance(node, MappingNode):
        return _node_entries(node, scan) if _is_label_node(node) else _key_entries(node, scan)
    entries = []
    for item in node.items:
        if isinstance(item, ListNode):
            scan.problem(item.line, "a list directly inside a list; give the inner one a label")
        elif isinstance(item, Scalar) and item.text is None:
            scan.problem(item.line, 'blank label name; if the label is called null, write "null"')
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
            scan.problem(key.line, "a key that is null, a list or a mapping; a label's name is text")
    return entries


def _is_label_node(node: MappingNode) -> bool:
    """Whether a mapping is one label, with its `name` and perhaps more, rather than names with their children."""
    values = {key.text: value for key, value in node.pairs() if isinstance(key, Scalar)}
    return "name" in values and (_text(values["name"]) is not None or "children" in values)


def _node_entries(node: MappingNode, scan: ScanBuilder) -> list[_Entry]:
    """The one label of a node with the keys `name`, `title` and `children`."""
    values: dict[str, Node] = {}
    for key, value in node.pairs():
        text = _text(key)
        if text not in _NODE_KEYS:
            scan.problem(key.line, f"unknown key {text!r} beside `name`; allowed: {', '.join(_NODE_KEYS)}")
        elif text in values:
            scan.problem(key.line, f"the key `{text}` is given twice for one label; keep one")
        else:
            values[text] = value
    name = _text(values["name"])
    if name is None:
        scan.problem(node.line, "the `name` of a label must be text")
        return []
    if isinstance(title := values.get("title"), ListNode | MappingNode):
        scan.problem(title.line, "the `title` of a label must be text")
    return [_Entry(node.line, name, _text(title) or "", values.get("children"))]


def _text(node: Node | None) -> str | None:
    return node.text if isinstance(node, Scalar) else None
