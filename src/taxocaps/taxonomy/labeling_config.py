"""A taxonomy as the labeling configuration of a project in Label Studio (https://labelstud.io/tags/taxonomy)."""

from collections.abc import Iterator
from typing import Literal, TextIO
from xml.sax.saxutils import quoteattr

from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["CONTROL", "TEXT", "LabelingTag", "write_labeling_config"]

LabelingTag = Literal["Taxonomy", "Choices"]

CONTROL, TEXT = "labels", "text"
"""The names of the tags that hold labels and the text; tasks and annotations refer to them."""


def write_labeling_config(taxonomy: Taxonomy, file: TextIO, tag: LabelingTag) -> None:
    """Write the configuration: people see the names of labels, and annotations hold their ids.

    Args:
        taxonomy: The labels. One with several parents stands below each of them; the root is left out.
        file: Where to write.
        tag: `Taxonomy` for a tree to choose from, `Choices` for a list of check boxes.
    """
    opening = {
        "Taxonomy": f'<Taxonomy name="{CONTROL}" toName="{TEXT}">',
        "Choices": f'<Choices name="{CONTROL}" toName="{TEXT}" choice="multiple">',
    }
    file.write(f'<View>\n  <Text name="{TEXT}" value="${TEXT}"/>\n  {opening[tag]}\n')
    file.writelines(_tree(taxonomy) if tag == "Taxonomy" else _list(taxonomy))
    file.write(f"  </{tag}>\n</View>\n")


def _list(taxonomy: Taxonomy) -> Iterator[str]:
    return (f"    {_choice(taxonomy, label)}/>\n" for label in taxonomy.names if label != taxonomy.root)


def _tree(taxonomy: Taxonomy) -> Iterator[str]:
    """Depth first, without recursion, for chains may be long."""
    tops = taxonomy.roots if taxonomy.root not in taxonomy else taxonomy.children(taxonomy.root)
    waiting: list[tuple[str | None, int]] = [(label, 2) for label in reversed(tops)]
    while waiting:
        label, level = waiting.pop()
        if label is None:
            yield f"{'  ' * level}</Choice>\n"
        elif children := taxonomy.children(label):
            yield f"{'  ' * level}{_choice(taxonomy, label)}>\n"
            waiting.append((None, level))
            waiting += [(child, level + 1) for child in reversed(children)]
        else:
            yield f"{'  ' * level}{_choice(taxonomy, label)}/>\n"


def _choice(taxonomy: Taxonomy, label: str) -> str:
    """The beginning of a tag: its value is shown, its alias stands in annotations."""
    title = taxonomy.title(label)
    alias = f" alias={quoteattr(label)}" if title != label else ""
    return f"<Choice value={quoteattr(title)}{alias}"
