"""The parts of an installation of taxocaps: a lock file with hashes, a CycloneDX list, and a table of licences.

    python scripts/parts.py --lock requirements.lock --cyclonedx parts.cdx.json --licences

Parts are taxocaps' dependencies as they are installed, those of the extras given by `--extras` included, and theirs in
turn. Hashes are those of all files of a version that the package indexes of pip offer; `--index` names others. A build
of torch with a local version, such as 2.4.0+cpu, is locked with that version: install it from the index that has it.
"""

import argparse
import json
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

EXTRAS = "networks,serve,parquet,skos,documents,tune"
_LINK = re.compile(r'<a\s[^>]*href="([^"]*)"')


def main() -> None:
    """Write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", default=EXTRAS, help=f"extras of taxocaps, with commas (default: {EXTRAS})")
    parser.add_argument("--index", action="append", help="a package index (default: those of pip)")
    parser.add_argument("--lock", type=Path, help="write requirements with hashes for pip install --require-hashes")
    parser.add_argument("--cyclonedx", type=Path, help="write the parts as CycloneDX JSON")
    parser.add_argument("--licences", action="store_true", help="print a table of licences in Markdown")
    options = parser.parse_args()
    parts = installed_parts("taxocaps", [one for one in options.extras.split(",") if one])
    if options.licences:
        print("| package | version | licence |\n|---|---|---|")
        for part in parts:
            print(f"| {part.metadata['Name']} | {part.version} | {licence(part)} |")
    if options.cyclonedx:
        options.cyclonedx.write_text(json.dumps(cyclonedx(parts), indent=2) + "\n", encoding="utf-8")
    if options.lock:
        options.lock.write_text(lock(parts, options.index or pip_indexes(), options.extras), encoding="utf-8")


def installed_parts(name: str, extras: list[str]) -> list[Distribution]:
    """The dependencies of an installed package, and theirs, by name."""
    waiting, found = [(name, extra) for extra in ("", *extras)], {}
    seen = set(waiting)
    while waiting:
        current, extra = waiting.pop()
        part = found.setdefault(canonicalize_name(current), distribution(current))
        for text in part.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                new = {(str(canonicalize_name(needed.name)), one) for one in ("", *needed.extras)} - seen
                seen |= new
                waiting.extend(sorted(new))
    return [found[key] for key in sorted(found) if key != canonicalize_name(name)]


def licence(part: Distribution) -> str:
    """The licence as the package states it, in a few words."""
    stated = part.metadata.get("License-Expression")
    classified = [
        one.rpartition(" :: ")[2] for one in part.metadata.get_all("Classifier") or () if one.startswith("License")
    ]
    text = stated or ", ".join(classified) or (part.metadata.get("License") or "not stated")
    return " ".join(text.split("\n", 1)[0].split())


def cyclonedx(parts: list[Distribution]) -> dict[str, object]:
    """A list of parts as CycloneDX 1.5 has it."""
    whole = distribution("taxocaps")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(whole, "application")},
        "components": [_component(part, "library") for part in parts],
    }


def _component(part: Distribution, kind: str) -> dict[str, object]:
    name = canonicalize_name(part.metadata["Name"])
    return {
        "type": kind,
        "name": name,
        "version": part.version,
        "purl": f"pkg:pypi/{name}@{urllib.parse.quote(part.version)}",
        "bom-ref": f"{name}@{part.version}",
        "licenses": [{"license": {"name": licence(part)}}],
    }


def lock(parts: list[Distribution], indexes: list[str], extras: str) -> str:
    """Requirements with a version and hashes each."""
    head = f"# The dependencies of taxocaps[{extras}], made by scripts/parts.py on Python {sys.version_info.major}."
    lines = [
        f"{head}{sys.version_info.minor}, {sys.platform}. Use:",
        "#   pip install --require-hashes -r requirements.lock",
    ]
    lines.append("#   pip install --no-deps taxocaps")
    for part in parts:
        name = canonicalize_name(part.metadata["Name"])
        hashes = sorted({found for index in indexes for found in file_hashes(index, name, part.version)})
        if not hashes:
            sys.exit(f"{name} {part.version}: no index has a hash of it; name one that has with --index")
        lines.append(" \\\n    ".join([f"{name}=={part.version}", *(f"--hash=sha256:{one}" for one in hashes)]))
    return "\n".join(lines) + "\n"


def pip_indexes() -> list[str]:
    """The package indexes, and folders of files, that pip is configured with."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    settings = dict(line.split("=", 1) for line in told.splitlines() if "=" in line)
    found = {
        one
        for key, value in settings.items()
        if key.rpartition(".")[2] in ("index-url", "extra-index-url", "find-links")
        for one in value.strip("'\"").split()
    }
    return sorted(
        found | (set() if any(key.endswith(".index-url") for key in settings) else {"https://pypi.org/simple"})
    )


def file_hashes(index: str, name: str, version: str) -> list[str]:
    """The hashes of the files of a version: of an index, as its page has them, or of a folder, as they are."""
    folder = Path(index)
    if folder.is_dir():
        return [_digest(path) for path in folder.iterdir() if _is_of(path.name, name, version)]
    try:
        with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/", timeout=60) as page:
            text = page.read(2**26).decode("utf-8")
    except OSError:
        try:  # a folder of pages, such as file:///mirror/simple
            with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/index.html", timeout=60) as page:
                text = page.read(2**26).decode("utf-8")
        except OSError:
            return []
    links = (urllib.parse.urlsplit(link.replace("&amp;", "&")) for link in _LINK.findall(text))
    return [
        link.fragment.removeprefix("sha256=")
        for link in links
        if link.fragment.startswith("sha256=") and _is_of(urllib.parse.unquote(Path(link.path).name), name, version)
    ]


def _is_of(file: str, name: str, version: str) -> bool:
    try:
        found = parse_wheel_filename(file)[:2] if file.endswith(".whl") else parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return False
    return (found[0], str(found[1])) == (name, version)


def _digest(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
