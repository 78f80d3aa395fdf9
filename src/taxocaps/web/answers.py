"""Errors as clients see them: one shape, `{"error": {"message": ..., "field": ...}}`, whatever went wrong."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from taxocaps.errors import TaxocapsError

__all__ = ["INTERNAL_ERROR", "Refused", "answer_errors", "error_response", "json_bytes", "json_response"]


class Refused(Exception):  # noqa: N818 - not a fault of the program: an answer
    """A request that is not answered as asked."""

    def __init__(
        self, status: int, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Say why.

        Args:
            status: The HTTP status.
            message: What is wrong and what to do, in one line.
            field: The part of the request at fault, such as `documents[3].text`.
            headers: Further headers of the answer.
        """
        super().__init__(message)
        self.status, self.message, self.field, self.headers = status, message, field, headers


INTERNAL_ERROR = Refused(500, "an internal error, which was logged")
"""All that anybody outside hears of a fault of ours."""


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain values as the JSON body of an answer."""
    return Response(json_bytes(content), status, headers, media_type="application/json")


def json_bytes(content: Any) -> bytes:
    """Plain values as JSON."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def error_response(refused: Refused) -> Response:
    """The answer to a request that was refused."""
    error = {"message": refused.message} | ({"field": refused.field} if refused.field else {})
    return json_response({"error": error}, refused.status, refused.headers)


def answer_errors(app: FastAPI) -> None:
    """Give all errors that an application raises itself the one shape."""

    async def refused(request: Request, error: Exception) -> Response:
        return error_response(_as_refused(request, error))

    for kind in (Refused, RequestValidationError, HTTPException, TaxocapsError, Exception):
        app.add_exception_handler(kind, refused)


def _as_refused(request: Request, error: Exception) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, RequestValidationError):
        return _invalid(error.errors()[0])
    if isinstance(error, HTTPException):
        messages = {
            400: "the body cannot be read: it is nested too deeply, or has a number too long",
            404: "there is nothing here; see /docs",
            405: f"{request.method} is not allowed here; see /docs",
        }
        return Refused(error.status_code, messages.get(error.status_code, str(error.detail)), headers=error.headers)
    if isinstance(error, TaxocapsError):  # a document that the model cannot read
        return Refused(422, " ".join(str(error).split()))
    return INTERNAL_ERROR


def _invalid(problem: Mapping[str, Any]) -> Refused:
    """The first thing that is wrong with a request, without what the client sent: that may be long."""
    if problem["type"] == "json_invalid":
        return Refused(400, f"the body is not valid JSON: {problem['ctx']['error']} at character {problem['loc'][-1]}")
    parts = [*problem["loc"][1:], *([problem["ctx"]["name"]] if problem["type"] == "unknown_field" else [])]
    field = ""
    for part in parts:
        field += f"[{part}]" if isinstance(part, int) else f"{'.' * bool(field)}{part[:100]}"
    if problem["type"] == "too_long":
        return Refused(413, f"at most {problem['ctx']['max_length']:,} in a request", field)
    message = _MESSAGES.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    return Refused(422, message, field or None)


_MESSAGES = {
    "missing": "is missing; a JSON object is wanted",
    "model_type": "must be a JSON object",
    "model_attributes_type": "must be a JSON object",
}
