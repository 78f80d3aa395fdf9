"""JSON responses, and the one shape of all errors."""

import json

import pytest

from taxocaps.results import plain
from taxocaps.web.responses import INTERNAL_ERROR, ApiError, error_response, json_bytes, json_response


def test_an_error_with_and_without_a_field():
    plain = error_response(ApiError(404, "nothing"))
    assert (plain.status_code, json.loads(plain.body)) == (404, {"error": {"message": "nothing"}})
    full = error_response(ApiError(503, "full", "documents", {"Retry-After": "1"}))
    assert json.loads(full.body) == {"error": {"message": "full", "field": "documents"}}
    assert full.headers["retry-after"] == "1"
    assert full.headers["content-type"] == "application/json"


def test_json_is_utf_8_and_has_no_numbers_that_json_does_not_know():
    assert json_bytes({"ключ": [1, "ö"]}) == '{"ключ":[1,"ö"]}'.encode()
    assert json_response(["a"], 418).status_code == 418
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_bytes(float("nan"))


def test_numbers_that_json_does_not_have_become_null():
    assert plain({"a": float("inf"), 3: [float("nan"), 0.5, (1, "x")]}) == {"a": None, "3": [None, 0.5, [1, "x"]]}


def test_an_internal_error_names_nothing():
    assert (INTERNAL_ERROR.status, INTERNAL_ERROR.field) == (500, None)
    assert INTERNAL_ERROR.message == "internal error; see the log of the server"


def test_a_document_that_the_model_cannot_read(serve, slate):
    from dataclasses import replace

    from taxocaps.errors import GraphError

    model = replace(slate.served(), answer=lambda jobs: [GraphError("too many\n  words") for _ in jobs])
    answer = serve(model).client.post("/v1/predict", json={"text": "a"})
    assert (answer.status_code, answer.json()) == (422, {"error": {"message": "too many words"}})
