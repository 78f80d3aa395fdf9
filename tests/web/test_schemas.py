"""What clients may send."""

import base64
import time

import pytest
from pydantic import ValidationError

from taxocaps.web.schemas import FileRequest, PredictRequest, limited_predict_request


def problems(kind, given):
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(given)
    return caught.value.errors()


def test_one_text_or_many_documents():
    assert PredictRequest(text="a").as_documents() == [{"text": "a"}]
    many = PredictRequest.model_validate({"documents": [{"id": "x", "text": "a"}, {"tokens": ["b"]}]})
    assert many.as_documents() == [
        {"id": "x", "text": "a", "tokens": None},
        {"id": None, "text": None, "tokens": ["b"]},
    ]


def test_null_is_as_good_as_nothing():
    given = {"text": "a", "documents": None, "top_k": None, "threshold": 0, "model": None}
    assert PredictRequest.model_validate(given).threshold == 0


def test_too_many_documents_are_not_looked_at():
    kind = limited_predict_request(2)
    assert kind.model_validate({"documents": [{"text": "a"}] * 2})
    (found,) = problems(kind, {"documents": [{"text": "a"}] * 3})
    assert (found["type"], found["loc"]) == ("too_long", ("documents",))
    assert kind.__name__ == "PredictRequest"


@pytest.mark.parametrize(
    "given",
    [
        {"documents": [{}] * 200_000},
        {"documents": [{"tokens": [1] * 200_000}]},
        {f"k{number}": 1 for number in range(200_000)},
        {"documents": [dict.fromkeys(map(str, range(200_000)), 1)]},
    ],
    ids=["documents", "tokens", "fields", "fields of a document"],
)
def test_the_first_mistake_of_many_is_enough(given):
    begin = time.process_time()
    assert len(problems(PredictRequest, given)) == 1
    assert time.process_time() - begin < 0.5  # to list them all takes seconds


def test_half_characters_are_refused_in_every_text():
    for given, place in [
        ({"text": "\ud800"}, ("text",)),
        ({"text": "a", "model": "\udfff"}, ("model",)),
        ({"documents": [{"text": "a", "id": "x\ud800"}]}, ("documents", 0, "id")),
        ({"documents": [{"tokens": ["a", "\ud800"]}]}, ("documents", 0, "tokens", 1)),
    ]:
        assert problems(PredictRequest, given)[0]["loc"] == place
    assert PredictRequest(text="🏠").text == "🏠"


def test_the_first_unknown_field_of_a_file_is_enough_and_gets_a_hint():
    begin = time.process_time()
    assert len(problems(FileRequest, dict.fromkeys(map(str, range(200_000)), 1))) == 1
    assert time.process_time() - begin < 0.5
    (found,) = problems(FileRequest, {"nmae": "a.csv", "content": ""})
    assert found["msg"] == "unknown field; did you mean name?"


def test_the_content_of_a_file_is_base64_with_or_without_line_ends_and_nothing_else():
    text = base64.encodebytes(bytes(range(256))).decode()
    assert "\n" in text[:-1]
    for given in (text, text.replace("\n", "")):
        assert FileRequest.model_validate({"name": "a", "content": given}).content == bytes(range(256))
    for given in ("???", "YQ", "YQ==YQ==", "é"):
        (found,) = problems(FileRequest, {"name": "a", "content": given})
        assert (found["loc"], found["msg"]) == (("content",), "Value error, is not valid Base64"), given
