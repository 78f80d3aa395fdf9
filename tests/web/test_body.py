"""Bodies that are too large, too slow, cut off or no text harm nobody but who sent them."""

import json
import socket
import threading
import time

import pytest

GOOD = {"text": "good"}


def head(port, length, more=""):
    return (
        f"POST /v1/predict HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n{more}\r\n"
    ).encode()


def is_well(running):
    answer = running.client.post("/v1/predict", json=GOOD)
    return answer.json()["predictions"][0]["labels"][0]["label"] == "good"


def test_64_megabytes_are_refused_and_others_go_on(serve, slate):
    running = serve(slate.served())
    answers = []
    body = b'{"text": "' + b"x" * 64_000_000 + b'"}'
    large = threading.Thread(target=lambda: answers.append(running.client.post("/v1/predict", content=body)))
    large.start()
    while large.is_alive():
        assert is_well(running)
    large.join()
    assert answers[0].status_code == 413
    assert answers[0].json()["error"]["message"] == "the body of a request has at most 4,000,000 bytes"
    assert ["good"] in slate.batches


def test_pieces_without_a_length_are_counted(serve, slate):
    running = serve(slate.served(), body_bytes=100)
    json_type = {"content-type": "application/json"}
    small = running.client.post("/v1/predict", content=iter([b'{"text"', b': "a"}']), headers=json_type)
    assert small.status_code == 200
    large = running.client.post("/v1/predict", content=iter([b'{"text": "', b"a" * 90, b'"}']), headers=json_type)
    assert large.status_code == 413
    exact = b'{"text": "' + b"a" * 88 + b'"}'
    assert running.client.post("/v1/predict", content=exact, headers=json_type).status_code == 200


def test_a_client_that_asks_first_need_not_send(serve, slate):
    running = serve(slate.served())
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
        client.sendall(head(running.port, 64_000_000, "Expect: 100-continue\r\n"))
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_half_a_body(serve, slate):
    running = serve(slate.served(), read_timeout=0.3)
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
        client.sendall(head(running.port, 100) + b'{"text": "ha')
        assert is_well(running)
        found = b"".join(iter(lambda: client.recv(1000), b""))  # until the server hangs up
        assert found.startswith(b"HTTP/1.1 408 ")
        assert json.loads(found.partition(b"\r\n\r\n")[2])["error"]["message"].startswith("the request did not arrive")
    assert is_well(running)


def test_a_client_that_goes_away_in_the_middle(serve, slate):
    running = serve(slate.served())
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
        client.sendall(head(running.port, 100) + b'{"text": "ha')
        time.sleep(0.05)
    assert is_well(running)
    assert slate.batches == [["good"]]
    deadline = time.monotonic() + 5
    while 499 not in [entry["status"] for entry in running.log]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
def test_kinds_of_json(serve, slate, kind):
    running = serve(slate.served())
    answer = running.client.post("/v1/predict", content=b'{"text": "a"}', headers={"content-type": kind})
    assert answer.status_code == 200
