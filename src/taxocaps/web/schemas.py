"""What clients send and get, as OpenAPI describes it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

__all__ = [
    "ErrorAnswer",
    "ExplainRequest",
    "HealthAnswer",
    "LimitsSaid",
    "ModelsAnswer",
    "PredictAnswer",
    "PredictRequest",
    "TaxonomyAnswer",
    "limited_explain_request",
    "limited_request",
]

_MOST_LABELS = 1_000_000


def _whole(text: str) -> str:
    """JSON can spell half a character, a lone surrogate, which no UTF-8 answer could carry."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"has half a character, a lone surrogate, at place {error.start}") from error
    return text


_Text = Annotated[str, AfterValidator(_whole)]


class _Given(BaseModel):
    """What a client sends: nothing is converted or passed over.

    Checks end at the first mistake: to list the millions that fit into one body would keep everybody waiting.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        unknown = next((name for name in given if name not in cls.model_fields), None) if type(given) is dict else None
        if unknown is not None:
            allowed = ", ".join(cls.model_fields)
            raise PydanticCustomError(
                "unknown_field",
                "unknown field; allowed: {allowed}",
                {"allowed": allowed, "name": unknown.encode("utf-8", "replace").decode()},
            )
        return given


class DocumentGiven(_Given):
    """A document: a text, or tokens that replace the model's own."""

    id: _Text | None = Field(None, description="A name; without one, the document's place, counted from 1.")
    text: _Text | None = None
    tokens: Annotated[list[_Text], Field(fail_fast=True)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "DocumentGiven":
        if (self.text is None) == (self.tokens is None):
            raise ValueError("give either text or tokens")
        return self


class PredictRequest(_Given):
    """One text or some documents, and which labels they get; what is not given is as the model was trained."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "The striker scored for his club.", "top_k": 3}]}
    )

    text: _Text | None = Field(None, description="One text.")
    documents: Annotated[list[DocumentGiven], Field(fail_fast=True)] | None = Field(
        None, description="Instead of text: one document or many."
    )
    model: _Text | None = Field(None, description="The name of a model; without one, the first that is served.")
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description="One threshold for all labels."
    )
    top_k: Annotated[int, Field(ge=1, le=_MOST_LABELS)] | None = Field(
        None, description="So many labels each, and what hierarchy adds; not with threshold."
    )
    at_least: Annotated[int, Field(ge=0, le=_MOST_LABELS)] | None = Field(
        None, description="Labels that every document with words gets."
    )
    hierarchy: Literal["as-is", "add-ancestors", "drop-orphans"] | None = Field(
        None, description="What is done about ancestors."
    )

    @model_validator(mode="after")
    def _no_contradiction(self) -> "PredictRequest":
        if (self.text is None) == (self.documents is None):
            raise ValueError("give either text or documents")
        if self.top_k is not None and self.threshold is not None:
            raise ValueError("top_k takes labels whatever their scores; leave out threshold")
        return self

    def as_documents(self) -> list[dict[str, Any]]:
        """The documents as plain values."""
        if self.documents is None:
            return [{"text": self.text}]
        return [dict(document) for document in self.documents]


def limited_request(documents: int) -> type[PredictRequest]:
    """`PredictRequest` with at most so many documents: described, and counted before they are looked at."""
    kind = Annotated[list[DocumentGiven], Field(fail_fast=True, max_length=documents)] | None
    field = Field(None, description=PredictRequest.model_fields["documents"].description)
    return create_model(
        "PredictRequest", __base__=PredictRequest, __doc__=PredictRequest.__doc__, documents=(kind, field)
    )


class ExplainRequest(_Given):
    """One document, a text or tokens that replace the model's own, and which of its labels to explain."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "The striker scored for his club."}]})

    text: _Text | None = Field(None, description="The text.")
    tokens: Annotated[list[_Text], Field(fail_fast=True)] | None = Field(
        None, description="Instead of text: the words, ready for the model."
    )
    id: _Text | None = Field(None, description="The title of the answer; without one, how the document begins.")
    model: _Text | None = Field(None, description="The name of a model; without one, the first that is served.")
    labels: Annotated[list[_Text], Field(fail_fast=True)] | None = Field(
        None, description="The labels to explain; without any, all that are given or else the nearest miss."
    )
    near_misses: Annotated[int, Field(ge=0, le=_MOST_LABELS)] = Field(
        5, description="How many labels that were not given are told too."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> "ExplainRequest":
        if (self.text is None) == (self.tokens is None):
            raise ValueError("give either text or tokens")
        return self


def limited_explain_request(labels: int) -> type[ExplainRequest]:
    """`ExplainRequest` with at most so many labels: described, and counted before they are looked at."""
    kind = Annotated[list[_Text], Field(fail_fast=True, max_length=labels)] | None
    field = Field(None, description=ExplainRequest.model_fields["labels"].description)
    return create_model("ExplainRequest", __base__=ExplainRequest, __doc__=ExplainRequest.__doc__, labels=(kind, field))


class LabelFound(BaseModel):
    """A label, how sure the model is, and the way to it from the top of the taxonomy."""

    label: str
    score: float
    path: list[str]


class PredictionFound(BaseModel):
    """The labels of a document, the surest first, or a warning that it has no words."""

    id: str
    labels: list[LabelFound]
    warning: str | None = None


class PredictAnswer(BaseModel):
    """The labels of all documents, in the order given."""

    model: str
    predictions: list[PredictionFound]


class LabelPlaced(BaseModel):
    """A label in the taxonomy; its threshold is null if the model cannot give it."""

    label: str
    title: str
    level: int
    parents: list[str]
    threshold: float | None


class TaxonomyAnswer(BaseModel):
    """The taxonomy of a model, parents before children."""

    model: str
    roots: list[str]
    labels: list[LabelPlaced]


class ModelCard(BaseModel):
    """A model: what it is, the number of its labels, and figures such as those on its validation documents."""

    name: str
    model: str
    preset: str
    seed: int
    labels: int
    language: str
    hierarchy: str
    rule: str
    at_least: int
    figures: dict[str, Any]


class LimitsSaid(BaseModel):
    """What fits into a request."""

    body_bytes: int
    documents: int
    text_length: int
    explain_words: int


class ModelsAnswer(BaseModel):
    """All models, the one that is asked if a request names none, and the limits of requests."""

    default: str
    models: list[ModelCard]
    limits: LimitsSaid


class HealthAnswer(BaseModel):
    """Whether requests are taken."""

    status: Literal["ready", "draining"]


class ErrorSaid(BaseModel):
    """What is wrong, and with which part of the request."""

    message: str
    field: str | None = None


class ErrorAnswer(BaseModel):
    """The answer to every request that is refused or failed."""

    error: ErrorSaid
