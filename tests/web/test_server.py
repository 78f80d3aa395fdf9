"""Sockets, and a stop that finishes what was accepted."""

import asyncio
import socket
import time

import httpx
import pytest

from taxocaps.errors import ConfigError
from taxocaps.web.server import address, bind, is_loopback


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
    for host in ("no such host", "x" * 300, "192.0.2.1"):
        with pytest.raises(ConfigError, match="cannot serve at"):
            bind(host, 0)


def test_a_stop_finishes_what_was_accepted_and_takes_no_more(serve, slate):
    running = serve(slate.served(), batch=1)
    slate.open.clear()

    async def clients():
        async with httpx.AsyncClient(base_url=running.url, timeout=20, trust_env=False) as client:
            accepted = [asyncio.create_task(client.post("/v1/predict", json={"text": text})) for text in "abc"]
            while not slate.begun.is_set() or running.service._batchers["slate"].waiting() < 2:
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
