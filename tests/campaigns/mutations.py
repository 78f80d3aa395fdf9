"""Mutated copies of folders: bytes, values of JSON and YAML, arrays and their shapes, files and links.

A mutation is decided by a seed and a number alone, so that every one can be made again.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import yaml
from safetensors.numpy import load_file, save_file

from taxocaps.files import COMPRESSIONS, digest

SEALED = 0.9
"""The share of mutated models whose hashes are made to fit again, as whoever changes a model on purpose would do."""
VALUES = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63),
    10**400,
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "auto",
    "cuda",
    "none",
    "/etc/passwd",
    "../../../etc/hostname",
    "os:system",
    "spacy:/etc",
    "\ud800",
    "\0",
    "x" * 5_000,
    [],
    {},
    [[]],
    [None],
    {"": {}},
    ["a", "a"],
)
NUMBERS = (
    0,
    1,
    -1,
    2,
    127,
    -128,
    2**31 - 1,
    -(2**31),
    2**40,
    -(2**62),
    0.0,
    -1.0,
    1e-300,
    1e38,
    -1e300,
    np.nan,
    np.inf,
)
PIECES = (
    *(
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\r",
        b"\n",
        b"\t",
        b'"',
        b"\\",
        b"\\ud800",
        b"&#0;",
        b"]]>",
        b"--",
        b"<!--",
    ),
    *(b"9" * 5_000, b"1e999", b"-" * 5_000, b" " * 5_000, b"\n" * 5_000, b"\x1b[2J", b"NaN", b"null", b"{}", b"[]"),
    *(b"<TEXT>", b"<REUTERS>", b"<BODY>", b"<D>", b"&a;", b"parent:", b"child:", b".I x", b"@prefix", b"@base <x> ."),
    *(b"<!DOCTYPE a [<!ENTITY a '&b;'>]>", b'"@context": "http://127.0.0.1:9/x",', b"&a [*a]", b"<<: *a", b"? !!x"),
)
WORDS = (
    *("", " ", "-", "--", "-h", "--help", "--debugging", "--json", "--quiet", "--set", "--out", "--format", "--text"),
    *(
        "0",
        "-1",
        "9" * 5_000,
        "1e999",
        "nan",
        "null",
        "x" * 5_000,
        "a=b",
        "corpus.split=",
        "text.language=xx",
        "[",
        "{}",
    ),
    *("corpus.longest_record=1", "corpus.format=csv", "corpus.encoding=rot13", "corpus.encoding=utf-16", "*", "?", "["),
    *("\x1b[31m", "a\nb", "\ud800", "nowhere", "nowhere/at/all", ".", "train.jsonl", "taxonomy.tsv", "out", "model"),
    *("vectors.source=none", "graph.window=-1", "--at-least", "--id", "--seed", "--jobs", "--encoding", "--overwrite"),
)
"""Words of command lines; none is a path out of the folder that commands run in."""
CELLS = (None, -1, 2**62, 0.5, "", "\0", "\x1b[2J", b"\xff\xfe", "[1]", '{"labels": 1}', "[" * 3_000, "9" * 5_000)
"""Values of a database."""
_OF_ARRAYS = (".safetensors", ".npy")
"""Files that are chosen three times as often: what they hold goes to compiled code."""
TYPES = (np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.bool_)


def mutate(original: Path, place: Path, seed: int, number: int) -> tuple[str, Path]:
    """Write a mutated copy of a folder; returns in words what was changed, and where it is.

    Args:
        original: A model's folder, a store or a data set.
        place: The folder that the copy goes into; what is there is removed.
        seed: The seed of the campaign.
        number: The number of the mutation.
    """
    generator = np.random.default_rng([seed, number])
    target = place / "mutant"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(original, target)
    told = []
    for _ in range(1 + int(generator.random() < 0.2)):
        files = sorted(path for path in target.rglob("*") if path.is_file() and not path.is_symlink())
        if not files:
            break
        path = _pick(generator, [*files, *(one for one in files if one.suffix in _OF_ARRAYS for _ in range(2))])
        kinds = [one for suffixes, ones in _CHANGES for one in ones if path.name.endswith(suffixes)]
        change = kinds[int(generator.integers(len(kinds)))] if generator.random() < 0.7 else _pick(generator, _OF_FILES)
        told.append(f"{change.__name__.strip('_')} {path.relative_to(target)}")
        change(path, generator, target)
    if (target / "versions.json").is_file() and generator.random() < SEALED:
        _seal(target)
    return ", ".join(told), target


def mutate_file(original: Path, place: Path, seed: int, number: int) -> tuple[str, Path]:
    """As `mutate`, for a file that is alone in its folder."""
    told, folder = mutate(original.parent, place, seed, number)
    return told, folder / original.name


def mutate_words(original: Path, place: Path, seed: int, number: int) -> tuple[str, Path]:
    """Write a command line, one of those in `lines.json`, with words replaced, removed, added or put elsewhere."""
    generator = np.random.default_rng([seed, number])
    lines = json.loads(original.with_name("lines.json").read_text(encoding="utf-8"))
    words = list(_pick(generator, lines))
    for _ in range(int(generator.integers(1, 4))):
        index, kind = int(generator.integers(1, len(words) + 1)), generator.random()
        if kind < 0.5:
            words[index : index + 1] = [_pick(generator, (*WORDS, *(one for line in lines for one in line[1:])))]
        elif kind < 0.7:
            del words[index : index + 1]
        elif kind < 0.9:
            words.insert(index, _pick(generator, WORDS))
        else:
            words.append(words.pop(min(index, len(words) - 1)))
    shutil.rmtree(place / "mutant", ignore_errors=True)
    shutil.copytree(original.parent, place / "mutant")
    (place / "mutant" / "words.json").write_text(json.dumps(words), encoding="utf-8")
    return " ".join(map(repr, words)), place / "mutant" / "words.json"


def _seal(folder):
    try:
        versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
        versions["files"] = {name: digest(folder / name) for name in versions["files"] if _is_plain(folder / name)}
        (folder / "versions.json").write_text(json.dumps(versions), encoding="utf-8")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError):
        pass  # nothing to seal any more


def _is_plain(path):
    return path.is_file() and not path.is_symlink()


def _pick(generator, choices):
    return choices[int(generator.integers(len(choices)))]


# Bytes.


def _flip(path, generator, folder):
    content = bytearray(path.read_bytes())
    for _ in range(int(generator.integers(1, 9)) if content else 0):
        content[int(generator.integers(len(content)))] ^= 1 << int(generator.integers(8))
    path.write_bytes(content)


def _overwrite(path, generator, folder):
    content = bytearray(path.read_bytes())
    start, length = int(generator.integers(len(content) + 1)), int(generator.integers(1, 65))
    content[start : start + length] = generator.bytes(length)
    path.write_bytes(content)


def _cut(path, generator, folder):
    content = path.read_bytes()
    path.write_bytes(content[: int(generator.integers(len(content) + 1))])


def _remove_part(path, generator, folder):
    content = path.read_bytes()
    start = int(generator.integers(len(content) + 1))
    path.write_bytes(content[:start] + content[start + int(generator.integers(1, 65)) :])


def _repeat_part(path, generator, folder):
    content = path.read_bytes()
    start = int(generator.integers(len(content) + 1))
    part = content[start : start + int(generator.integers(1, 65))]
    path.write_bytes(content[:start] + part * int(generator.integers(2, 1_000)) + content[start:])


def _nest(path, generator, folder):
    content = path.read_bytes()
    start = int(generator.integers(len(content) + 1))
    path.write_bytes(
        content[:start] + _pick(generator, (b"[", b'{"a":', b"(", b"- ", b"&a *a ")) * 20_000 + content[start:]
    )


def _insert(path, generator, folder):
    content = path.read_bytes()
    start = int(generator.integers(len(content) + 1))
    path.write_bytes(content[:start] + _pick(generator, PIECES) + content[start:])


def _change_packed(path, generator, folder):
    """Change what is inside of a compressed file."""
    opener = COMPRESSIONS[path.suffix]
    try:
        with opener(path, "rb") as file:
            content = file.read()
    except Exception:  # mutated before
        return
    inside = path.with_suffix("")
    inside.write_bytes(content)
    kinds = [one for suffixes, ones in _CHANGES for one in ones if inside.name.endswith(suffixes)]
    _pick(generator, (*kinds, _flip, _overwrite, _cut, _remove_part, _repeat_part, _nest, _insert))(
        inside, generator, folder
    )
    with opener(path, "wb") as file:
        file.write(inside.read_bytes())
    inside.unlink()


def _change_member(path, generator, folder):
    """Change what is inside of a file of an archive, such as a DOCX or XLSX file."""
    try:
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # mutated before
        return
    name = _pick(generator, sorted(contents))
    inside = path.with_name("member")
    inside.write_bytes(contents[name])
    _pick(generator, (_flip, _overwrite, _cut, _remove_part, _repeat_part, _nest, _insert))(inside, generator, folder)
    contents[name] = inside.read_bytes()
    inside.unlink()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, content in contents.items():
            archive.writestr(one, content)


def _change_database(path, generator, folder):
    """Change a value, or what a table is, in a SQLite file."""
    with (
        contextlib.suppress(sqlite3.Error, UnicodeDecodeError),
        contextlib.closing(sqlite3.connect(path)) as database,
        database,
    ):
        found = database.execute("SELECT name, type FROM sqlite_master WHERE name > '' AND sql > ''").fetchall()
        if not found:
            return
        name, kind = _pick(generator, sorted(found))
        if generator.random() < 0.2 or kind != "table":
            database.execute(f"DROP {kind} {name}")
            return
        if generator.random() < 0.5:  # whatever the schema says
            database.execute("PRAGMA writable_schema = RESET")
            database.execute("PRAGMA writable_schema = ON")
            database.execute("UPDATE sqlite_master SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '')")
            database.execute("PRAGMA writable_schema = RESET")
        column = _pick(generator, [row[1] for row in database.execute(f"PRAGMA table_info({name})")])
        value = _pick(generator, (*CELLS, *map(json.dumps, VALUES)))
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(f"UPDATE {name} SET {column} = ?", (value,))


# Files.


def _delete(path, generator, folder):
    path.unlink()


def _empty(path, generator, folder):
    path.write_bytes(b"")


def _swap(path, generator, folder):
    others = sorted(one for one in folder.rglob("*") if _is_plain(one))
    other = _pick(generator, others)
    ours, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(ours)


def _copy_over(path, generator, folder):
    others = sorted(one for one in folder.rglob("*") if _is_plain(one))
    path.write_bytes(_pick(generator, others).read_bytes())


def _link(path, generator, folder):
    path.unlink()
    path.symlink_to(
        _pick(generator, ("/dev/zero", "/etc/passwd", "/proc/self/environ", "nowhere", ".", "..", path.name))
    )


def _link_inside(path, generator, folder):
    others = sorted(one for one in folder.rglob("*") if _is_plain(one) and one != path) or [folder / "nowhere"]
    path.unlink()
    path.symlink_to(os.path.relpath(_pick(generator, others), path.parent))


def _pipe(path, generator, folder):
    path.unlink()
    os.mkfifo(path)


def _make_folder(path, generator, folder):
    path.unlink()
    path.mkdir()


def _add(path, generator, folder):
    (path.parent / f"{path.name}.more").write_bytes(path.read_bytes())


# Values.


def _change_json(path, generator, folder):
    path.write_text(json.dumps(_changed(_parsed(path, json.loads), generator)), encoding="utf-8")


def _change_yaml(path, generator, folder):
    path.write_text(yaml.dump(_changed(_parsed(path, yaml.safe_load), generator)), encoding="utf-8")


def _parsed(path, parse):
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, yaml.YAMLError):  # mutated before
        return {}


def _changed(value, generator):
    """The value with something in it replaced, removed or added; at every level it may be the value itself."""
    if isinstance(value, dict | list) and value and generator.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = keys[int(generator.integers(len(keys)))]
        kind = generator.random()
        if kind < 0.1:
            del value[key]
        elif kind < 0.2 and isinstance(value, dict):
            value[str(_pick(generator, VALUES))] = value[key]
        elif kind < 0.2:
            value.append(value[key])
        else:
            value[key] = _changed(value[key], generator)
        return value
    return _pick(generator, VALUES)


def _change_line(path, generator, folder):
    lines = path.read_bytes().split(b"\n")
    first, second = (int(generator.integers(len(lines))) for _ in range(2))
    kind = generator.random()
    if kind < 0.3:
        lines[first], lines[second] = lines[second], lines[first]
    elif kind < 0.5:
        del lines[first]
    elif kind < 0.7:
        lines.insert(second, lines[first])
    else:
        lines[first] = (
            lines[first].partition(b"\t")[0] + b"\t" + _pick(generator, (b"0", b"-1", b"9" * 4_400, b"x", b""))
        )
    path.write_bytes(b"\n".join(lines))


# Arrays.


def _change_tensors(path, generator, folder):
    try:
        arrays = load_file(path)
    except Exception:  # mutated before
        return
    name = _pick(generator, sorted(arrays))
    kind = generator.random()
    if kind < 0.1:
        del arrays[name]
    elif kind < 0.2:
        arrays[_pick(generator, (*sorted(arrays), "more"))] = arrays[name]
    else:
        arrays[name] = _changed_array(arrays[name], generator)
    save_file({key: np.ascontiguousarray(array) for key, array in arrays.items()}, path)


def _change_array(path, generator, folder):
    try:
        array = np.load(path)
    except Exception:  # mutated before
        return
    array = _changed_array(array, generator)
    np.save(path, array)
    manifest = folder / "manifest.json"
    if generator.random() < 0.8 and _is_plain(manifest):  # as whoever changes an array on purpose would do
        content = _parsed(manifest, json.loads)
        described = content.get("arrays", {}) if isinstance(content, dict) else {}
        key = path.relative_to(folder).with_suffix("").as_posix()
        if isinstance(described, dict) and key in described:
            described[key] = {"dtype": str(array.dtype), "shape": list(array.shape)}
            manifest.write_text(json.dumps(content), encoding="utf-8")


def _changed_array(array, generator):
    kind = generator.random()
    if kind < 0.6 and array.size:
        array = array.copy()
        places = generator.integers(array.size, size=int(generator.integers(1, 5)))
        with np.errstate(all="ignore"):
            values = np.array([_pick(generator, NUMBERS)]).astype(array.dtype)
        array.flat[places] = values[0]
        return array
    if kind < 0.7:
        return array[int(generator.integers(0, 3)) :] if array.ndim else array[None]
    if kind < 0.8:
        return np.concatenate([array, array[:2]]) if array.ndim else array[None]
    if kind < 0.9:
        return array[None] if generator.random() < 0.5 else array.reshape(-1)
    with np.errstate(all="ignore"):
        return array.astype(_pick(generator, TYPES))


_OF_FILES = (
    *(_flip, _overwrite, _cut, _remove_part, _repeat_part, _nest, _insert, _insert),
    *(_delete, _empty, _swap, _copy_over, _link, _link_inside, _pipe, _make_folder, _add),
)
_CHANGES = (
    ("", (_flip,)),
    (".json", (_change_json,) * 9),
    (".jsonl", (_change_line,) * 3),
    (".yaml", (_change_yaml,) * 9),
    ((".tsv", ".txt", ".csv", ".hier", ".ttl", ".rdf", ".sgm", ".dat", ".xml", ".vec"), (_change_line, _insert) * 2),
    (tuple(COMPRESSIONS), (_change_packed,) * 9),
    (".jsonld", (_change_json,) * 3),
    (".safetensors", (_change_tensors,) * 9),
    (".npy", (_change_array,) * 9),
    ((".docx", ".xlsx"), (_change_member,) * 9),
    (".sqlite", (_change_database,) * 5),
)
