"""The options of linear classifiers."""

from typing import Annotated, ClassVar, Literal

from taxocaps.config import AtLeast, Between, Config, Search
from taxocaps.errors import ConfigError

__all__ = ["LinearConfig"]


class LinearConfig(Config):
    """Options of linear classifiers.

    Attributes:
        loss: "logistic" for logistic regression, "hinge" for a support vector machine. The hinge is squared, as in
            scikit-learn's default, except in the structured method.
        structure: How the taxonomy is used: not at all (one-vs-rest), by decisions from the top down, by regularizing
            the weights of a label towards those of its parents, or by a margin between paths.
        C: Inverse regularization strength, the cost of errors relative to 1/2 of the squared norm of the weights; null
            chooses it on a fold of the documents, if the taxonomy is not used.
        drop_below: Weights with a smaller absolute value are set to 0; 0 keeps all.
        max_weights: The largest number of nonzero weights of all one-vs-rest classifiers together, of 8 bytes each on
            disk and several times that in training; of more, each classifier keeps an equal number, the largest.
        tolerance: Tolerance of the stopping criterion: a tenth of the duality gap, relative to the objective.
        iterations: Maximum number of passes over the documents; the recursive method makes 15 at a time.
        root: Whether the recursive method learns the weights of the root, or fixes them at 0.
    """

    section: ClassVar[str] = "linear"

    loss: Literal["logistic", "hinge"] = "hinge"
    structure: Literal["flat", "top_down", "recursive", "structured"] = "flat"
    C: Annotated[Annotated[float, Between(1e-6, 1e6)] | None, Search(0.03, 30, log=True)] = 1.0
    drop_below: Annotated[float, Between(0, 1)] = 1e-3
    max_weights: Annotated[int, AtLeast(1)] = 200_000_000
    tolerance: Annotated[float, Between(1e-9, 1)] = 1e-4
    iterations: Annotated[int, Between(1, 1_000_000)] = 1_000
    root: Literal["learned", "zero"] = "learned"

    def model_post_init(self, context: object, /) -> None:
        """Check that options fit together."""
        if self.C is None and self.structure != "flat":
            raise ConfigError(f"{self.key('C')} must be a number unless {self.key('structure')} is flat")
        if self.structure == "structured" and self.loss != "hinge":
            raise ConfigError(f"{self.key('loss')} must be hinge if {self.key('structure')} is structured")
