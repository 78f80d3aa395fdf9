"""Attacks on a real server: what is sent is refused or answered, never mixed up, and others go on."""

import gzip
import json
import socket
import subprocess
import sys
import threading
import time
import zlib

import httpx
import pytest

from taxocaps.web.api import OPEN_PATHS
from taxocaps.web.observability import write_entry

GOOD = {"text": "good"}
SMUGGLED = b'{"text": "smuggled"}'
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY")


@pytest.fixture(scope="module")
def lasting(serve_all, new_slate):
    """A server that one attack after the other has to leave as it was."""
    return serve_all(new_slate().served())


@pytest.fixture(scope="module")
def impatient_slate(new_slate):
    return new_slate()


@pytest.fixture(scope="module")
def impatient(serve_all, impatient_slate):
    """Another one, which does not wait long for what does not come."""
    return serve_all(impatient_slate.served(), read_timeout=0.5)


def is_well(running):
    answer = running.client.post("/v1/predict", json=GOOD)
    return answer.json()["predictions"][0]["labels"][0]["label"] == "good"


def request(head, body=b"", path="/v1/predict"):
    start = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    return start + head + b"\r\n\r\n" + body


def talk(running, *sent):
    """All that the server answers before it hangs up, or is silent for a while."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=1) as client:
        try:
            for part in sent:
                client.sendall(part)
            return b"".join(iter(lambda: client.recv(65_536), b""))
        except (TimeoutError, ConnectionError):
            return b""


INNER = request(b"Content-Length: %d" % len(SMUGGLED), SMUGGLED)
CHUNK = b"%x\r\n%b\r\n" % (len(b'{"text": "outer"}'), b'{"text": "outer"}')


@pytest.mark.parametrize(
    "attack",
    [
        request(b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"0\r\n\r\n" + INNER),
        request(b"Transfer-Encoding: chunked\r\nContent-Length: %d" % (len(INNER) + 5), b"0\r\n\r\n" + INNER),
        request(b"Content-Length: 0\r\nContent-Length: %d" % len(INNER), INNER),
        request(b"Content-Length: 0, %d" % len(INNER), INNER),
        request(b"Content-Length: +0", INNER),
        request(b"Content-Length: -1", INNER),
        request(b"Content-Length : 0", INNER),
        request(b"Transfer-Encoding: xchunked", b"0\r\n\r\n" + INNER),
        request(b"Transfer-Encoding: chunked, identity", b"0\r\n\r\n" + INNER),
        request(b"Transfer-Encoding : chunked", b"0\r\n\r\n" + INNER),
        request(b"X: y\r\n Transfer-Encoding: chunked", b"0\r\n\r\n" + INNER),
        request(b"Transfer-Encoding: chunked", b"0x0\r\n\r\n" + INNER),
        request(b"Transfer-Encoding: chunked", b"FFFFFFFFFFFFFFFFF0\r\n" + INNER),
        request(b"Transfer-Encoding: chunked", b"-1\r\n" + INNER),
        request(b"Transfer-Encoding: chunked", b"5\r\nab\r\n0\r\n\r\n" + INNER),
        request(b"X: a\nContent-Length: 0\n", INNER),
        b"\0" + INNER,
    ],
)
def test_no_request_is_smuggled_inside_another(impatient, impatient_slate, attack):
    answer = talk(impatient, attack)
    assert ["smuggled"] not in impatient_slate.batches, answer
    assert b" 500 " not in answer
    assert is_well(impatient)


def test_chunks_of_any_size_are_one_body(serve, slate):
    running = serve(slate.served())
    pieces = [b'{"te', b"xt", b'": "in ', b"pieces", b'"}']
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    assert b" 200 " in talk(running, request(b"Transfer-Encoding: chunked\r\nConnection: close"), body)
    assert slate.batches == [["in pieces"]]


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "gzip, gzip"])
def test_compressed_bodies_are_not_unpacked(lasting, pack, name):
    bomb = pack(b'{"text": "' + b"x" * 10_000_000 + b'"}')
    headers = {"content-type": "application/json", "content-encoding": name}
    answer = lasting.client.post("/v1/predict", content=bomb, headers=headers)
    assert answer.status_code in (400, 415), answer.text
    assert is_well(lasting)


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        (b'{"documents": [' + b'{"text": "a"},' * 99_999 + b'{"text": "a"}]}', {413}),
        (b'{"documents": [' + b"{}," * 999_999 + b"{}]}", {413, 422}),
        (b"[" * 1_000_000, {400, 422}),
        (b'{"text":' * 400_000, {400, 422}),
        (b'{"text": "a", "at_least": ' + b"9" * 1_000_000 + b"}", {400, 422}),
        (b'{"text": "a", "at_least": 1e999}', {400, 422}),
        (b'{"text": "first", "text": "second"}', {200, 422}),
        (b'{"text": "\\ud800"}', {200, 400, 422}),
        (b'{"text": "a' + b"\\u0000" * 30_000 + b'"}', {200, 413, 422}),
        (json.dumps({"x" * 1_000_000: 1}).encode(), {422}),
        (json.dumps({f"x{one}": 1 for one in range(100_000)}).encode(), {422}),
        (b'{"documents": [{"text": "a", "id": "' + b"x" * 1_000_000 + b'"}]}', {200, 413, 422}),
        (b"\xff\xfe{\0}\0", {400}),
        (b"NaN", {400, 422}),
    ],
)
def test_bodies_that_ask_for_too_much(lasting, body, statuses):
    begin = time.process_time()
    for path in ("/v1/predict", "/v1/explain"):
        answer = lasting.client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (statuses if path == "/v1/predict" else {*statuses, 400, 413, 422}), answer.text[
            :300
        ]
        if answer.status_code != 200:
            assert len(answer.text) < 2_000
    assert time.process_time() - begin < 10
    assert is_well(lasting)


def test_clients_that_do_not_read_their_answers_hold_nobody_up(serve, slate):
    running = serve(slate.served())
    text = "x" * 100_000
    body = json.dumps({"documents": [{"text": text}] * 20}).encode()
    clients = []
    for _ in range(20):
        client = socket.create_connection(("127.0.0.1", running.port), timeout=10)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        client.sendall(request(b"Content-Length: %d" % len(body), body))
        clients.append(client)
    for _ in range(10):
        assert is_well(running)
    for client in clients:
        client.close()
    assert is_well(running)


def test_overload_is_refused_at_once_and_passes(serve, slate):
    running = serve(slate.served(), queue=4, documents=4, batch=1)
    slate.open.clear()
    found = []
    threads = [threading.Thread(target=lambda: found.append(_status(running))) for _ in range(20)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 15
    while found.count(503) < 10:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert running.client.get("/healthz").status_code == 200
    slate.open.set()
    for thread in threads:
        thread.join()
    assert set(found) == {200, 503}
    assert is_well(running)


def _status(running):
    answer = httpx.post(f"{running.url}/v1/predict", json=GOOD, timeout=30, trust_env=False)
    assert answer.status_code == 200 or answer.headers["retry-after"]
    return answer.status_code


def test_every_route_but_the_open_ones_needs_the_token(serve, slate):
    running = serve(slate.served(), token="s3cret")
    routes = [path for path in running.service.metrics._paths if path.startswith("/")]
    assert {"/v1/predict", "/metrics", "/openapi.json"} <= set(routes)
    for path in routes:
        for method in METHODS:
            for given in (path, f"{path}?token=s3cret", path.replace("v1", "V1"), f"{path}/", f"{path}%2f"):
                if given.partition("?")[0] in OPEN_PATHS or not given.strip("/"):
                    continue
                status = running.client.request(method, given, headers={"x-api-key": "s3cret"}).status_code
                assert status == 401, (method, given, status)
    assert slate.batches == []


def test_every_route_refuses_foreign_names(serve, slate):
    running = serve(slate.served())
    for path in running.service.metrics._paths:
        for method in METHODS if path.startswith("/") else ():
            answer = running.client.request(method, path, headers={"host": "evil.example"})
            assert answer.status_code == 421, (method, path)


def test_a_log_has_one_line_of_plain_letters_for_each_request(serve, slate, capsys):
    running = serve(slate.served())
    path = "/x%0a%7b%22level%22:%22error%22%7d%1b%5b2J%c2%9b31m%e2%80%ae"
    assert running.client.get(path).status_code == 404
    document = {"text": "a\x1b[2J\n{}", "id": "i\n\x1b]0;title\x07"}
    assert running.client.post("/v1/predict", json={"documents": [document]}).status_code == 200
    capsys.readouterr()
    for entry in running.log:
        write_entry(entry)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(running.log)
    for line in lines:
        assert line.isascii()
        assert line.isprintable()
        assert "time" in json.loads(line)


@pytest.mark.slow
def test_a_client_that_keeps_sending_64_megabytes_leaves_the_others_their_server(serve, slate):
    running = serve(slate.served())
    assert answered(running, 0.5)
    rates = []
    for _ in range(3):
        alone = answered(running, 2)
        with subprocess.Popen([sys.executable, "-c", FLOOD, str(running.port)], stdout=subprocess.PIPE) as flood:
            flood.stdout.readline()  # it has sent something
            rates.append(answered(running, 2) / alone)
            flood.kill()
    assert sorted(rates)[1] > 0.5, rates
    assert 413 in [entry["status"] for entry in running.log]


FLOOD = """
import http.client, sys
body = b"x" * 64_000_000
while True:
    client = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    print("sending", flush=True)
    client.request("POST", "/v1/predict", body, {"Content-Type": "application/json"})
    assert client.getresponse().status == 413
    client.close()
"""


def answered(running, seconds):
    """How many requests a client gets answers to."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        assert is_well(running)
        count += 1
    return count
