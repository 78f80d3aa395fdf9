"""Requests and responses, as OpenAPI describes them; results are those of `taxocaps.results`."""

import base64
import binascii
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    Base64Encoder,
    BaseModel,
    ConfigDict,
    EncodedBytes,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from taxocaps.config import Config, json_schema
from taxocaps.errors import ConfigError, nearest
from taxocaps.feedback.store import Event, Verdict
from taxocaps.results import ModelCard, Prediction, ScoredLabel
from taxocaps.workflows.explain import ExplainOptions
from taxocaps.workflows.predict import DecisionOptions
from taxocaps.workflows.uploads import NamedText

__all__ = [
    "BackRequest",
    "ErrorResponse",
    "ExchangeResponse",
    "ExplainRequest",
    "FeedbackRequest",
    "FeedbackResponse",
    "FileRequest",
    "HealthResponse",
    "ModelsResponse",
    "PredictRequest",
    "PredictResponse",
    "QueueRequest",
    "QueueResponse",
    "QueuedResponse",
    "ReloadRequest",
    "RequestCorrection",
    "RequestLimits",
    "limited_explain_request",
    "limited_feedback_request",
    "limited_predict_request",
    "limited_queue_request",
]

C = TypeVar("C", bound=Config)

_LONGEST_NAME = 100
_LONGEST_FILE_NAME = 1_000
_AS_TRAINED = DecisionOptions()
_DECISION = DecisionOptions.model_fields.keys()

_OPTIONS = {**json_schema(DecisionOptions)["properties"], **json_schema(ExplainOptions)["properties"]}


def _without_surrogates(text: str) -> str:
    """JSON can spell a lone surrogate, which no UTF-8 response could contain."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"has half a character, a lone surrogate, at position {error.start}") from error
    return text


_Text = Annotated[str, AfterValidator(_without_surrogates)]


class _Request(BaseModel):
    """The body of a request: types are not converted, unknown fields not ignored.

    Validation ends at the first error: to list the millions that fit into one body would block the server.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        unknown = next((name for name in given if name not in cls.model_fields), None) if type(given) is dict else None
        if unknown is not None:
            close = nearest(unknown, cls.model_fields)
            hint = f"did you mean {close}?" if close else f"allowed: {', '.join(cls.model_fields)}"
            raise PydanticCustomError(
                "unknown_field",
                "unknown field; {hint}",
                {"hint": hint, "name": unknown.encode("utf-8", "replace").decode()},
            )
        return given


class RequestDocument(_Request):
    """A document: a text, or tokens that replace the model's own."""

    id: _Text | None = Field(None, description="An id; by default the document's position, counted from 1.")
    text: _Text | None = None
    tokens: Annotated[list[_Text], Field(fail_fast=True)] | None = None

    @model_validator(mode="after")
    def _text_or_tokens(self) -> "RequestDocument":
        if (self.text is None) == (self.tokens is None):
            raise ValueError("give either text or tokens")
        return self


def _option(name: str) -> Any:
    """A field as `DecisionOptions` or `ExplainOptions` describes it, which also validates it."""
    described = {key: value for key, value in _OPTIONS[name].items() if key != "title"}
    return Field(described.get("default"), json_schema_extra=described)


class PredictRequest(_Request):
    """One text or several documents, and how their labels are chosen; by default as the model was trained."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "The striker scored for his club.", "top_k": 3}]}
    )

    text: _Text | None = Field(None, description="One text.")
    documents: Annotated[list[RequestDocument], Field(fail_fast=True)] | None = Field(
        None, description="Instead of text: one document or many."
    )
    model: _Text | None = Field(None, description="The name of a model; by default the first that is served.")
    threshold: float | None = _option("threshold")
    top_k: int | None = _option("top_k")
    at_least: int | None = _option("at_least")
    hierarchy: str | None = _option("hierarchy")

    @field_validator(*DecisionOptions.model_fields)
    @classmethod
    def _check_option(cls, value: Any, info: ValidationInfo) -> Any:
        _checked(DecisionOptions, **{str(info.field_name): value})
        return value

    @model_validator(mode="after")
    def _no_contradiction(self) -> "PredictRequest":
        if (self.text is None) == (self.documents is None):
            raise ValueError("give either text or documents")
        _ = self.options
        return self

    @cached_property
    def options(self) -> DecisionOptions:
        """How labels are chosen."""
        given = {name: getattr(self, name) for name in self.model_fields_set & _DECISION}
        return _checked(DecisionOptions, **given) if given else _AS_TRAINED

    @property
    def size(self) -> int:
        """The number of documents."""
        return 1 if self.documents is None else len(self.documents)

    def as_documents(self) -> list[dict[str, Any]]:
        """The documents as plain values."""
        if self.documents is None:
            return [{"text": self.text}]
        return [dict(document) for document in self.documents]


def _checked(cls: type[C], **given: Any) -> C:
    try:
        return cls(**given)
    except ConfigError as error:
        raise ValueError(str(error)) from error


def limited_predict_request(documents: int) -> type[PredictRequest]:
    """`PredictRequest` with at most so many documents, which are counted before they are validated."""
    kind = Annotated[list[RequestDocument], Field(fail_fast=True, max_length=documents)] | None
    field = Field(None, description=PredictRequest.model_fields["documents"].description)
    return create_model(
        "PredictRequest", __base__=PredictRequest, __doc__=PredictRequest.__doc__, documents=(kind, field)
    )


class ExplainRequest(_Request):
    """One document, a text or tokens that replace the model's own, and which of its labels to explain."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "The striker scored for his club."}]})

    text: _Text | None = Field(None, description="The text.")
    tokens: Annotated[list[_Text], Field(fail_fast=True)] | None = Field(
        None, description="Instead of text: the words, ready for the model."
    )
    id: _Text | None = Field(None, description="The title of the explanation; by default the first words.")
    model: _Text | None = Field(None, description="The name of a model; by default the first that is served.")
    labels: Annotated[list[_Text], Field(fail_fast=True)] | None = Field(
        None, description=_OPTIONS["labels"]["description"]
    )
    near_misses: int = _option("near_misses")
    method: _Text | None = _option("method")

    @field_validator("near_misses", "method")
    @classmethod
    def _check_option(cls, value: Any, info: ValidationInfo) -> Any:
        _checked(ExplainOptions, **{str(info.field_name): value})
        return value

    @property
    def options(self) -> ExplainOptions:
        """What is explained, and how."""
        return ExplainOptions(labels=tuple(self.labels or ()), near_misses=self.near_misses, method=self.method)

    @model_validator(mode="after")
    def _text_or_tokens(self) -> "ExplainRequest":
        if (self.text is None) == (self.tokens is None):
            raise ValueError("give either text or tokens")
        return self


def limited_explain_request(labels: int) -> type[ExplainRequest]:
    """`ExplainRequest` with at most so many labels, which are counted before they are validated."""
    kind = Annotated[list[_Text], Field(fail_fast=True, max_length=labels)] | None
    field = Field(None, description=ExplainRequest.model_fields["labels"].description)
    return create_model("ExplainRequest", __base__=ExplainRequest, __doc__=ExplainRequest.__doc__, labels=(kind, field))


_Checked = AfterValidator(_without_surrogates)
_Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME), _Checked]
_Version = Annotated[str, Field(max_length=_LONGEST_NAME), _Checked]
_Id = Annotated[str, Field(max_length=1_000), _Checked]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Field = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"^[^,]*[^,\s][^,]*$"), _Checked]
_Readable = Annotated[str, Field(min_length=1), _Checked]


class ReviewDocument(_Request):
    """A document for reviewers: a text that they can read, and other fields that stay with it."""

    id: _Id | None = Field(None, description="An id, if it has one; else its text tells it from others.")
    text: _Readable
    fields: dict[_Text, _Text | int | _Number | bool | None] = Field(
        {}, max_length=_LONGEST_NAME, description="Other fields, such as a title; they come back with the corrections."
    )


class RequestCorrection(_Request):
    """What a reviewer says about a label of a document, about a document, or about an earlier correction."""

    key: _Name = Field(
        description="Any text that no other correction has, such as a UUID: what is sent again is added once."
    )
    verdict: Verdict = Field(description="accept, reject or add a label; done with a document; or undo a correction.")
    reviewer: _Name = Field(description="Who says it.")
    document: ReviewDocument | None = Field(None, description="The document, unless the verdict is undo.")
    label: _Text | None = Field(None, description="The label, for accept, reject and add.")
    suggested: Annotated[list[_Text], Field(fail_fast=True)] | None = Field(
        None, description="For done: the labels that were suggested; those that were not rejected are kept."
    )
    undoes: _Name | None = Field(None, description="For undo: the key of the correction that does not count.")
    version: _Version | None = Field(
        None, description="The version of the model that suggested the labels; by default of the one that is served."
    )

    @model_validator(mode="after")
    def _complete(self) -> "RequestCorrection":
        needed = {"done": {"document", "suggested"}, "undo": {"undoes"}}.get(self.verdict, {"document", "label"})
        for name in ("document", "label", "suggested", "undoes"):
            if (getattr(self, name) is not None) != (name in needed):
                raise ValueError(f"{self.verdict} {'needs' if name in needed else 'has no'} {name}")
        return self


class FeedbackRequest(_Request):
    """Corrections, which are added all or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "corrections": [
                        {
                            "key": "7f9c24e8",
                            "verdict": "reject",
                            "reviewer": "Ann",
                            "document": {"id": "1", "text": "The striker scored for his club."},
                            "label": "business",
                        }
                    ]
                }
            ]
        }
    )

    corrections: Annotated[list[RequestCorrection], Field(fail_fast=True, min_length=1)]
    model: _Text | None = Field(None, description="The name of a model; by default the first that is served.")


def limited_feedback_request(corrections: int) -> type[FeedbackRequest]:
    """`FeedbackRequest` with at most so many corrections."""
    kind = Annotated[list[RequestCorrection], Field(fail_fast=True, min_length=1, max_length=corrections)]
    field = Field(description="What reviewers say.")
    return create_model(
        "FeedbackRequest", __base__=FeedbackRequest, __doc__=FeedbackRequest.__doc__, corrections=(kind, field)
    )


class QueueRequest(_Request):
    """Documents that are to be reviewed."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"id": "1", "text": "The striker scored for his club."}]}]}
    )

    documents: Annotated[list[ReviewDocument], Field(fail_fast=True, min_length=1)]
    model: _Text | None = Field(None, description="The name of a model; by default the first that is served.")


def limited_queue_request(documents: int) -> type[QueueRequest]:
    """`QueueRequest` with at most so many documents."""
    kind = Annotated[list[ReviewDocument], Field(fail_fast=True, min_length=1, max_length=documents)]
    field = Field(description="The documents.")
    return create_model("QueueRequest", __base__=QueueRequest, __doc__=QueueRequest.__doc__, documents=(kind, field))


class BackRequest(_Request):
    """Which model is to be the one again that it was before."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})

    model: _Text | None = Field(None, description="The name of a model; by default the first that is served.")


class ReloadRequest(BackRequest):
    """Which model is to be loaded anew."""

    folder: _Name | None = Field(
        None,
        description="The name of a folder beside that of the model; by default the one that the server started with.",
    )


class FeedbackResponse(BaseModel):
    """What reviewers have said."""

    model: str
    events: list[Event]


class QueueReason(BaseModel):
    """Why a document is worth reviewing: the label that it may teach most about, and its doubt in bits."""

    label: str | None
    name: str | None
    score: float
    doubt: float


class QueuedDocument(BaseModel):
    """A document of the queue, the labels that the model suggests, and what reviewers have said so far."""

    document: ReviewDocument
    is_reviewed: bool
    version: str
    labels: list[ScoredLabel]
    reason: QueueReason
    events: list[Event]


class QueueResponse(BaseModel):
    """Documents of the queue, and how many are open, reviewed and in it at all."""

    model: str
    version: str
    sizes: dict[Literal["open", "reviewed", "all"], int]
    documents: list[QueuedDocument]


class QueuedResponse(BaseModel):
    """How many documents were put into the queue."""

    model: str
    documents: int


class _Base64(Base64Encoder):
    """Base64 that may have white space but no other foreign characters, which pydantic would pass over."""

    @classmethod
    def decode(cls, data: bytes) -> bytes:
        try:
            return base64.b64decode(b"".join(data.split()), validate=True)
        except binascii.Error as error:
            raise ValueError("is not valid Base64") from error


class FileRequest(_Request):
    """A file of documents, and which of its fields are used; by default that is recognised."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "news.txt", "content": "VGhlIHN0cmlrZXIgc2NvcmVkIGZvciBoaXMgY2x1Yi4="}]
        }
    )

    name: Annotated[str, Field(min_length=1, max_length=_LONGEST_FILE_NAME), _Checked] = Field(
        description="The name of the file, whose suffix tells what it is: .csv, .jsonl, .xlsx, .pdf, and so on."
    )
    content: Annotated[bytes, EncodedBytes(encoder=_Base64), Field(strict=False)] = Field(
        description="Its bytes in Base64."
    )
    text_fields: list[_Field] = Field(
        [], max_length=_LONGEST_NAME, description="The fields, such as columns of a table, that make the text."
    )
    id_field: _Field | None = Field(None, description="The field with the id.")


class ExchangeResponse(BaseModel):
    """The version of the model that answers now, and of the one that answered before."""

    model: str
    version: str
    before: str


class PredictResponse(BaseModel):
    """The labels of all documents, in the order of the request."""

    model: str
    version: str
    predictions: list[Prediction]


class RequestLimits(BaseModel):
    """How large a request may be."""

    body_bytes: int
    documents: int
    text_length: int
    explain_words: int


class ModelsResponse(BaseModel):
    """All models, the one that is used if a request names none, the limits of requests, and texts to try them with."""

    default: str
    models: list[ModelCard]
    limits: RequestLimits
    examples: list[NamedText]


class HealthResponse(BaseModel):
    """Whether requests are accepted."""

    status: Literal["ready", "draining"]


class ErrorDetail(BaseModel):
    """What is wrong, and with which part of the request."""

    message: str
    field: str | None = None


class ErrorResponse(BaseModel):
    """The response to every request that is refused or failed."""

    error: ErrorDetail
