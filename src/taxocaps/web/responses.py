"""JSON responses; all errors have one shape, `{"error": {"message": ..., "field": ...}}`."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from taxocaps.errors import FeedbackError, TaxoCapsError

__all__ = [
    "INTERNAL_ERROR",
    "ApiError",
    "add_error_handlers",
    "as_api_error",
    "error_response",
    "json_bytes",
    "json_response",
]

_LONGEST_MESSAGE = 500


class ApiError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self, status: int, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Describe the error.

        Args:
            status: The HTTP status.
            message: What is wrong and what to do, in one line.
            field: The part of the request at fault, such as `documents[3].text`.
            headers: Further headers of the response.
        """
        super().__init__(message)
        self.status, self.message, self.field, self.headers = status, message, field, headers


INTERNAL_ERROR = ApiError(500, "internal error; see the log of the server")
"""All that clients are told about an unexpected exception."""


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain values as a JSON response."""
    return Response(json_bytes(content), status, headers, media_type="application/json")


def json_bytes(content: Any) -> bytes:
    """Plain values as JSON."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def error_response(error: ApiError) -> Response:
    """An error as a response."""
    content = {"message": error.message} | ({"field": error.field} if error.field else {})
    return json_response({"error": content}, error.status, error.headers)


def add_error_handlers(app: FastAPI) -> None:
    """Give all errors that an application raises the same shape."""

    async def handle(request: Request, error: Exception) -> Response:
        return error_response(as_api_error(error, request.method))

    for kind in (ApiError, RequestValidationError, HTTPException, TaxoCapsError, Exception):
        app.add_exception_handler(kind, handle)


def as_api_error(error: Exception, method: str = "POST") -> ApiError:
    """What clients are told about an exception; one that was not expected is for the log."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, RequestValidationError):
        return _invalid_request(error.errors()[0])
    if isinstance(error, HTTPException):
        messages = {
            400: "the body cannot be read: it is nested too deeply, or a number in it is too long",
            404: "not found; see /docs",
            405: f"{method} is not allowed here; see /docs",
        }
        return ApiError(error.status_code, messages.get(error.status_code, str(error.detail)), headers=error.headers)
    if isinstance(error, FeedbackError):
        return ApiError(409, str(error)[:_LONGEST_MESSAGE])
    if isinstance(error, TaxoCapsError):  # a document that the model cannot read
        return ApiError(422, " ".join(str(error).split()))
    return INTERNAL_ERROR


def _invalid_request(problem: Mapping[str, Any]) -> ApiError:
    """The first problem of a request; what the client sent may be long, and is not repeated in full."""
    if problem["type"] == "json_invalid":
        return ApiError(400, f"the body is not valid JSON: {problem['ctx']['error']} at character {problem['loc'][-1]}")
    parts = [*problem["loc"][1:], *([problem["ctx"]["name"]] if problem["type"] == "unknown_field" else [])]
    field = ""
    for part in parts:
        field += f"[{part}]" if isinstance(part, int) else f"{'.' * bool(field)}{part[:100]}"
    if problem["type"] == "too_long":
        return ApiError(413, f"at most {problem['ctx']['max_length']:,} in a request", field)
    message = _MESSAGES.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    return ApiError(422, message[:_LONGEST_MESSAGE], field or None)


_MESSAGES = {
    "missing": "is missing; a JSON object is expected",
    "model_type": "must be a JSON object",
    "model_attributes_type": "must be a JSON object",
}
