"""The SGML files of Reuters-21578 (Lewis 1997): stories out of `reut2-*.sgm`, with what its README says about them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from taxocaps.datasets.sources import SourceFile
from taxocaps.errors import FileError

__all__ = ["Story", "modapte_split", "read_stories"]

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)\s*=\s*"?([^"\s>]*)"?')
_TEXT = re.compile(r"<TEXT\b[^>]*>(.*?)(?:</TEXT>|\Z)", re.DOTALL)
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)(?:</BODY>|\Z)", re.DOTALL)
_OUTSIDE_BODY = re.compile(r"<(TITLE|DATELINE|AUTHOR)>.*?</\1>\s*", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_ENTITY = re.compile(r"&(lt|gt|amp|quot|apos|#\d+);")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SIGNATURE = re.compile(r"\s*\n\s*reuter\s*\Z", re.IGNORECASE)
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


@dataclass(frozen=True, slots=True)
class Story:
    """A story, its topics as given, and its part of the ModApte split: "train", "test" or "unused"."""

    id: int
    text: str
    topics: tuple[str, ...]
    split: str


def read_stories(file: SourceFile) -> Iterator[Story]:
    """Yield the stories of one file.

    The text is the title, a newline and the body without the closing line "Reuter". Stories of the types BRIEF and
    UNPROC have no body: all their text is taken. Control characters (`&#2;`, `&#3;`, bytes that mean nothing) are
    dropped, `&lt;` and its like are resolved, and an `&` that begins no entity is an `&`. The files are Latin-1.

    Raises:
        FileError: When a story has no NEWID.
    """
    for match in _STORY.finditer(file.read("latin-1")):
        attributes = dict(_ATTRIBUTE.findall(match[1]))
        number = attributes.get("NEWID", "")
        if not number.isdecimal():
            raise FileError(f"{file}: a story without a NEWID: <REUTERS{match[1]}>; download the file again")
        topics = _TOPICS.search(match[2])
        yield Story(
            id=int(number),
            text=_text(match[2]),
            topics=tuple(dict.fromkeys(map(_clean, _TOPIC.findall(topics[1])))) if topics else (),
            split=modapte_split(attributes.get("LEWISSPLIT", ""), attributes.get("TOPICS", "")),
        )


def modapte_split(lewis_split: str, topics: str) -> str:
    """The part of the ModApte split that the attributes of a story put it in (README, section VIII.B).

    >>> modapte_split("TRAIN", "YES"), modapte_split("TEST", "YES"), modapte_split("TRAIN", "BYPASS")
    ('train', 'test', 'unused')
    """
    return {"TRAIN": "train", "TEST": "test"}.get(lewis_split, "unused") if topics == "YES" else "unused"


def _text(story: str) -> str:
    match = _TEXT.search(story)
    if not match:
        return ""
    title, body = _TITLE.search(match[1]), _BODY.search(match[1])
    rest = _clean(body[1] if body else _OUTSIDE_BODY.sub("", match[1]))
    return "\n".join(filter(None, (_clean(title[1]) if title else "", _SIGNATURE.sub("", rest))))


def _clean(text: str) -> str:
    return _CONTROL.sub("", _ENTITY.sub(_resolve, text.replace("\r\n", "\n"))).strip()


def _resolve(entity: re.Match[str]) -> str:
    name = entity[1]
    return _NAMED[name] if name in _NAMED else chr(min(int(name[1:]), 0x10FFFF))
