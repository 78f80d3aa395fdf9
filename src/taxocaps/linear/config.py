"""The options of linear classifiers."""

from typing import Annotated, ClassVar, Literal

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError

__all__ = ["LinearConfig"]


class LinearConfig(Config):
    """How linear classifiers are fitted.

    Attributes:
        loss: "logistic" gives logistic regression, "hinge" a support vector machine. The hinge is squared, as is
            scikit-learn's default, except in the structured method, which has the plain one.
        structure: How the taxonomy is used: not at all, by one decision after the other from the top down, by drawing
            the weights of a label towards those of its parents, or by a margin between paths.
        C: What an error on a document costs, against 1/2 for the squared length of the weights.
        drop_below: Weights of a smaller absolute value are dropped; 0 keeps all.
        tolerance: How near the minimum the solvers stop: liblinear's tolerance; in the recursive and the structured
            method a tenth of the duality gap, as a share of the objective.
        iterations: Passes over the documents, at most; the recursive method makes 15 at a time.
        root: Whether the recursive method learns the weights at the root, or holds them at 0.
    """

    section: ClassVar[str] = "linear"

    loss: Literal["logistic", "hinge"] = "hinge"
    structure: Literal["flat", "top_down", "recursive", "structured"] = "flat"
    C: Annotated[float, Between(1e-6, 1e6)] = 1.0
    drop_below: Annotated[float, Between(0, 1)] = 1e-3
    tolerance: Annotated[float, Between(1e-9, 1)] = 1e-4
    iterations: Annotated[int, Between(1, 1_000_000)] = 1_000
    root: Literal["learned", "zero"] = "learned"

    def model_post_init(self, context: object, /) -> None:
        """Check every field; a margin between paths is a matter of the hinge."""
        if self.structure == "structured" and self.loss != "hinge":
            raise ConfigError(f"{self.key('loss')} must be hinge if {self.key('structure')} is structured")
