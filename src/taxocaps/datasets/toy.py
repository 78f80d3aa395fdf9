"""Twelve tiny documents under a taxonomy of three levels, for tests and documentation."""

from taxocaps.corpus.document import Dataset, Document
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["load"]

_EDGES = (
    ("Topics", "Sport"),
    ("Sport", "Ball games"),
    ("Ball games", "Football"),
    ("Ball games", "Tennis"),
    ("Sport", "Cycling"),
    ("Topics", "Science"),
    ("Science", "Physics"),
    ("Physics", "Astronomy"),
    ("Science", "Biology"),
    ("Biology", "Genetics"),
)

_FOOTBALL = ("Sport", "Ball games", "Football")
_TENNIS = ("Sport", "Ball games", "Tennis")
_CYCLING = ("Sport", "Cycling")
_ASTRONOMY = ("Science", "Physics", "Astronomy")
_GENETICS = ("Science", "Biology", "Genetics")

_DOCUMENTS = (
    (
        "train",
        "football-cup",
        _FOOTBALL,
        "The home team won the cup final on penalties. Their goalkeeper saved the last penalty, and the supporters "
        "ran onto the pitch to carry the goalkeeper home.",
    ),
    (
        "train",
        "football-coach",
        _FOOTBALL,
        "After the third defeat the club dismissed its coach. The new coach wants his strikers to score from open "
        "play again, not only from corners and penalties.",
    ),
    (
        "train",
        "tennis-final",
        _TENNIS,
        "She won the final in three sets. Her serve decided the match: she hit twelve aces on the grass court and "
        "lost only one service game.",
    ),
    (
        "train",
        "cycling-stage",
        _CYCLING,
        "The mountain stage broke the peloton apart. Two riders attacked on the last climb, and the leader lost the "
        "yellow jersey on the descent.",
    ),
    (
        "train",
        "cycling-doping",
        _CYCLING + _GENETICS,
        "Officials will test riders of the tour for gene doping. The laboratory looks for copies of a gene that makes "
        "blood carry more oxygen; a rider with such a copy loses the race.",
    ),
    (
        "train",
        "astronomy-comet",
        _ASTRONOMY,
        "A comet will be visible after sunset this week. Astronomers followed its orbit with a telescope in Chile and "
        "expect the tail to grow as the comet nears the sun.",
    ),
    (
        "train",
        "astronomy-planet",
        _ASTRONOMY,
        "The telescope found a planet that orbits two stars. Its light dims when the planet passes before the stars, "
        "and from the dimming astronomers worked out the orbit.",
    ),
    (
        "train",
        "genetics-wheat",
        _GENETICS,
        "Biologists read the genome of wild wheat. One gene protects the plant from rust, and crossing it into common "
        "wheat could protect harvests without spraying.",
    ),
    (
        "dev",
        "tennis-injury",
        _TENNIS,
        "A wrist injury ends his season on the clay court. He lost the first set, called the doctor, and gave up the "
        "match before the second set was over.",
    ),
    (
        "dev",
        "genetics-mice",
        _GENETICS,
        "Mice without this gene sleep four hours less. The biologists switched the gene off in brain cells only and "
        "compared the mice with their siblings.",
    ),
    (
        "test",
        "football-transfer",
        _FOOTBALL,
        "The striker moves to another club in the summer. He scored twenty goals this season, and the supporters of "
        "his old team hope for a young striker of their own.",
    ),
    (
        "test",
        "astronomy-moon",
        _ASTRONOMY,
        "The moon moves away from the earth by four centimetres a year. Astronomers measure its orbit with a laser "
        "and mirrors that were left on the moon.",
    ),
)


def load(*, progress: Progress = silent) -> Dataset:
    """The documents in the splits "train" (8), "dev" (2) and "test" (2); labels include their ancestors.

    Args:
        progress: Told how many documents there are.

    >>> {split: len(documents) for split, documents in load().splits.items()}
    {'train': 8, 'dev': 2, 'test': 2}
    """
    splits: dict[str, list[Document]] = {}
    for split, name, labels, text in _DOCUMENTS:
        splits.setdefault(split, []).append(Document(text=text, id=name, labels=labels, split=split))
    progress("reading documents", len(_DOCUMENTS), len(_DOCUMENTS))
    return Dataset(
        name="toy",
        splits={split: tuple(documents) for split, documents in splits.items()},
        taxonomy=Taxonomy.from_edges(_EDGES),
        description="Twelve made-up news items about sport and science.",
    )
