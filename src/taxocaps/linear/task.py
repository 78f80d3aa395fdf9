"""What linear methods are fitted to."""

from dataclasses import dataclass

from scipy.sparse import csr_array

from taxocaps.corpus.classes import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.progress import Progress, silent

__all__ = ["LinearTask"]


@dataclass(frozen=True, eq=False)
class LinearTask:
    """Training documents, their labels, and how to learn from them.

    Attributes:
        X: CSR [n, V], the features of the documents.
        Y: CSR [n, L] of bool, their labels.
        classes: The L labels.
        config: How to fit.
        seed: The same seed gives the same weights, on any number of threads.
        threads: Classifiers that are fitted at the same time, where a method can.
        progress: Told how far the work is.
    """

    X: csr_array
    Y: csr_array
    classes: Classes
    config: LinearConfig
    seed: int = 0
    threads: int = 1
    progress: Progress = silent
