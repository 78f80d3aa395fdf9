"""FastAPI alone, with the requests and responses of `taxocaps serve` and no model: the limit that a server has.

uvicorn bare_fastapi:app --no-access-log
"""

from fastapi import FastAPI
from pydantic import BaseModel

from taxocaps.results import Prediction, ScoredLabel

__all__ = ["app"]

LABELS = ("scipy", "scipy.sparse")
PATHS = (("scipy",), ("scipy", "scipy.sparse"))


class Request(BaseModel):
    """A text."""

    text: str
    top_k: int | None = None
    threshold: float | None = None


class Response(BaseModel):
    """Its labels."""

    model: str
    predictions: list[Prediction]


app = FastAPI()


@app.post("/v1/predict")
async def predict(request: Request) -> Response:
    labels = tuple(ScoredLabel(label, label, 0.912345, (path,)) for label, path in zip(LABELS, PATHS, strict=True))
    return Response(model="none", predictions=[Prediction("1", labels)])
