"""Draw a few training documents of a data set, to see what a model makes of little.

    python benchmarks/draw.py build/pydocs --documents 500 --seeds 0 1 2    # makes build/pydocs500-0, -1 and -2

Taxonomy and test documents are those of the data set. There are no dev documents: who has 500 has none to spare.
"""

import argparse
import random
import shutil
from pathlib import Path

__all__ = ["draw"]


def draw(folder: Path, documents: int, seed: int) -> Path:
    """Make a folder with so many of the training documents of another, beside it."""
    out = folder.with_name(f"{folder.name}{documents}-{seed}")
    out.mkdir(exist_ok=True)
    lines = (folder / "train.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    drawn = random.Random(seed).sample(lines, documents)
    (out / "train.jsonl").write_text("".join(f"{line}\n" for line in drawn), encoding="utf-8")
    for name in ("test.jsonl", "taxonomy.tsv"):
        shutil.copyfile(folder / name, out / name)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    for seed in options.seeds:
        print(draw(options.folder, options.documents, seed))


if __name__ == "__main__":
    main()
