"""Sockets, connections of clients that stop in the middle, and a stop that finishes what was accepted."""

import asyncio
import json
import os
import socket
import threading
import time

import httpx
import pytest

from taxocaps.errors import ConfigError
from taxocaps.web.api import Service
from taxocaps.web.server import Server, address, bind, bind_shared, is_loopback


def test_addresses():
    for host, loopback in [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)]:
        with bind(host, 0) as listener:
            assert is_loopback(listener) == loopback
            assert address(listener).endswith(f":{listener.getsockname()[1]}")


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_addresses_of_the_other_kind():
    try:
        listener = bind("::1", 0)
    except ConfigError:
        pytest.skip("this machine has no IPv6 address")
    with listener:
        assert is_loopback(listener)
        assert address(listener).startswith("http://[::1]:")


def test_a_port_in_use_and_a_host_that_is_none():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"cannot serve at 127\.0\.0\.1, port {port}: Address already in use"):
            bind("127.0.0.1", port)
    with bind("127.0.0.1", 0) as first, pytest.raises(ConfigError, match="Address already in use"):
        bind("127.0.0.1", first.getsockname()[1])  # before a server runs on the other
    for host in ("no such host", "x" * 300, "192.0.2.1"):
        with pytest.raises(ConfigError, match="cannot serve at"):
            bind(host, 0)


def test_a_stop_finishes_what_was_accepted_and_takes_no_more(serve, slate):
    running = serve(slate.served(), batch=1)
    slate.open.clear()

    async def clients():
        async with httpx.AsyncClient(base_url=running.url, timeout=20, trust_env=False) as client:
            accepted = [asyncio.create_task(client.post("/v1/predict", json={"text": text})) for text in "abc"]
            while not slate.begun.is_set() or running.service._batcher(running.service.model(None)).waiting() < 2:
                await asyncio.sleep(0.005)
            running.server.stop()
            await asyncio.sleep(0.4)
            with pytest.raises(httpx.ConnectError):
                await client.post("/v1/predict", json={"text": "late"})
            assert running.thread.is_alive()
            slate.open.set()
            return await asyncio.gather(*accepted)

    answers = asyncio.run(clients())
    assert [answer.json()["predictions"][0]["labels"][0]["label"] for answer in answers] == ["a", "b", "c"]
    running.thread.join(10)
    assert not running.thread.is_alive()


def test_a_server_whose_lifeline_is_cut_finishes_what_was_accepted_at_rest(slate):
    mine, its = os.pipe()
    listener, answers = bind("127.0.0.1", 0), []
    url = address(listener)
    server = Server(Service({"slate": slate.served()}), lifeline=mine)
    slate.open.clear()

    def ask():
        answers.append(httpx.post(f"{url}/v1/predict", json={"text": "a"}, timeout=20, trust_env=False))

    threads = [threading.Thread(target=server.serve_on, args=(listener,)), threading.Thread(target=ask)]
    for thread in threads:
        thread.start()
    assert slate.begun.wait(10)
    os.close(its)
    while not server.should_exit:
        time.sleep(0.005)
    begin = time.process_time()
    time.sleep(1)
    assert time.process_time() - begin < 0.3
    slate.open.set()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert [answer.status_code for answer in answers] == [200]
    os.close(mine)


def test_a_stop_waits_for_no_idle_connection(serve, slate):
    running = serve(slate.served(), read_timeout=60)
    assert running.client.get("/healthz").status_code == 200
    with socket.create_connection(("127.0.0.1", running.port)) as idle:
        idle.sendall(b"GET /heal")
        time.sleep(0.05)
        begin = time.monotonic()
        running.server.stop()
        running.thread.join(10)
        assert time.monotonic() - begin < 5


def test_a_request_that_was_on_its_way_at_a_stop_is_told_so(serve, slate, monkeypatch):
    monkeypatch.setattr("taxocaps.web.server._LAST_MOMENT", 1.0)
    running = serve(slate.served())
    body = b'{"text": "late"}'
    head = (
        f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    with connect(running) as client:
        assert running.client.get("/healthz").status_code == 200  # so the connection before it is accepted, too
        running.server.stop()
        time.sleep(0.3)  # uvicorn looks ten times a second whether it is to stop
        client.sendall(head.encode() + b"\r\n\r\n" + body)
        found = b"".join(iter(lambda: client.recv(1000), b""))
    assert found.startswith(b"HTTP/1.1 503 ")
    assert b"the server is stopping" in found


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


def test_a_head_that_does_not_end_is_refused(serve, slate):
    running = serve(slate.served())
    with connect(running) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"x: y\r\n" * 12_000)
        assert client.recv(1000).startswith(b"HTTP/1.1 431 ")
    assert running.client.get("/healthz").status_code == 200


def test_a_client_that_offers_another_protocol_is_answered_in_this_one(serve, slate):
    """As Java's client does by default."""
    running = serve(slate.served())
    offer = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AAEAAEAA"}
    assert running.client.post("/v1/predict", json={"text": "a"}, headers=offer).status_code == 200


def test_workers_share_a_port_that_no_other_server_has():
    listeners = bind_shared("127.0.0.1", 0, 2)
    port = listeners[0].getsockname()[1]
    assert [one.getsockname()[1] for one in listeners] == [port, port]
    for one in listeners:
        one.listen()
    with pytest.raises(ConfigError, match="Address already in use"):
        bind_shared("127.0.0.1", port, 2)
    for one in listeners:
        one.close()


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
