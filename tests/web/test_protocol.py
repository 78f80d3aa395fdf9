"""Connections of clients that stop in the middle, or speak something else."""

import json
import socket
import time

import pytest


def connect(running):
    return socket.create_connection(("127.0.0.1", running.port), timeout=10)


@pytest.mark.parametrize("sent", [b"", b"POST /v1/pre", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
def test_half_a_head_is_hung_up_on(serve, slate, sent):
    running = serve(slate.served(), read_timeout=0.5)
    with connect(running) as client:
        begin = time.monotonic()
        client.sendall(sent)
        assert running.client.get("/healthz").status_code == 200
        assert client.recv(100) == b""
        assert 0.4 < time.monotonic() - begin < 5


def test_one_byte_after_the_other_is_hung_up_on_too(serve, slate):
    running = serve(slate.served(), read_timeout=0.5)
    begin = time.monotonic()
    with connect(running) as client, pytest.raises(OSError, match=r"reset|[Bb]roken"):
        while time.monotonic() < begin + 5:
            client.sendall(b"G")
            time.sleep(0.05)
    assert time.monotonic() - begin < 4


def test_no_http_is_answered_in_the_shape_of_all_errors(serve, slate, capfd):
    running = serve(slate.served())
    with connect(running) as client:
        client.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        head, _, body = b"".join(iter(lambda: client.recv(1000), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body) == {"error": {"message": "Invalid HTTP request received."}}
    assert running.client.get("/healthz").status_code == 200
    running.server.stop()
    running.thread.join(10)
    (line,) = capfd.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "Invalid HTTP request received."


def test_a_connection_serves_many_requests(serve, slate):
    running = serve(slate.served(), read_timeout=0.5)
    with connect(running) as client:
        for _ in range(3):
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            found = b""
            while not found.endswith(b'{"status":"ready"}'):
                piece = client.recv(1000)
                assert piece, "hung up"
                found += piece
            time.sleep(0.6)  # waits for a head for a second, on each request anew
