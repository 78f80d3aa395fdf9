"""The limits of a server, and what keeps unwanted requests out: body, token and host."""

import json
import socket
import threading
import time

import pytest

from taxocaps.errors import ConfigError
from taxocaps.web.limits import LOOPBACK_NAMES, ServeConfig, check_lengths, find_token, resolve_serve_config
from taxocaps.web.responses import ApiError
from taxocaps.web.server import bind, own_names


def test_defaults_then_a_file_then_overrides(tmp_path):
    (tmp_path / "a.yaml").write_text("graph: {window: 4}\nserve: {batch: 7, timeout: 2.5}\n")
    assert resolve_serve_config() == ServeConfig()
    found = resolve_serve_config(tmp_path / "a.yaml", ["serve.batch=9"])
    assert (found.batch, found.timeout, found.queue) == (9, 2.5, ServeConfig().queue)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("serve.bath=1", r"unknown configuration key serve\.bath; did you mean serve\.batch\?"),
        ("graph.window=3", "^this command has no options graph; it has serve, corpus$"),
        ("serve.timeout=0", r"serve\.timeout must be from 0\.001"),
        ("serve.queue=3", r"serve\.queue must be at least serve\.documents, 256; got 3"),
    ],
)
def test_what_is_not_allowed(override, message):
    with pytest.raises(ConfigError, match=message):
        resolve_serve_config(overrides=[override])


def test_a_file_at_fault_is_named(tmp_path):
    (tmp_path / "a.toml").write_text('[serve]\nbatch = "many"\n')
    with pytest.raises(ConfigError, match=r"a\.toml: serve\.batch must be a whole number"):
        resolve_serve_config(tmp_path / "a.toml", ["serve.batch=9"])


def test_lengths():
    config = ServeConfig(text_length=4)
    check_lengths([{"text": "abcd"}, {"tokens": ["a", "b"]}, {"tokens": []}, {"text": None, "tokens": ["abc"]}], config)
    for documents, prefix, field in [
        ([{"text": "abcde"}], [""], "text"),
        ([{"text": ""}, {"text": "abcde"}], [], "documents[1].text"),
        ([{"tokens": ["ab", "cd"]}], [], "documents[0].tokens"),
    ]:
        with pytest.raises(ApiError) as caught:
            check_lengths(documents, config, *prefix)
        assert (caught.value.status, caught.value.field) == (413, field)


GOOD = {"text": "good"}


def head(port, length, more=""):
    return (
        f"POST /v1/predict HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n{more}\r\n"
    ).encode()


def is_well(running):
    answer = running.client.post("/v1/predict", json=GOOD)
    return answer.json()["predictions"][0]["labels"][0]["label"] == "good"


@pytest.mark.slow
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


def test_a_large_body_that_came_whole_is_refused_at_once(serve, slate):
    running = serve(slate.served(), body_bytes=100)
    chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = f"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n{chunked}c8\r\n{'a' * 200}\r\n0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.port), timeout=3) as client:
        client.sendall(body.encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")


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


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("TAXOCAPS_TOKEN", raising=False)


def test_only_who_knows_it_gets_answers(serve, slate):
    client = serve(slate.served(), token="s3cret").client
    for given in (None, "s3cret", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "Bearer \xff"):
        headers = {} if given is None else {"authorization": given.encode("latin-1")}
        for method, path in [("POST", "/v1/predict"), ("GET", "/v1/models"), ("GET", "/metrics"), ("GET", "/nowhere")]:
            answer = client.request(method, path, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert answer.json()["error"]["message"]
    assert slate.batches == []
    for given in ("Bearer s3cret", "bearer  s3cret"):
        answer = client.post("/v1/predict", json={"text": "a"}, headers={"authorization": given})
        assert answer.status_code == 200
    assert client.get("/healthz").json() == {"status": "ready"}


def test_from_a_file_or_from_the_environment(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("from-file\n")
    assert find_token(None) is None
    assert find_token(tmp_path / "token") == "from-file"
    monkeypatch.setenv("TAXOCAPS_TOKEN", "from-environment")
    assert find_token(None) == "from-environment"
    assert find_token(tmp_path / "token") == "from-file"


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", "schlüssel".encode(), b"\xff"])
def test_no_token_at_all(tmp_path, monkeypatch, content):
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(ConfigError, match=r"token: (the token is empty|a token is printable ASCII)"):
        find_token(tmp_path / "token")
    if content != b"\xff":
        monkeypatch.setenv("TAXOCAPS_TOKEN", content.decode())
        with pytest.raises(ConfigError, match="TAXOCAPS_TOKEN"):
            find_token(None)


NAMES = {
    "localhost": 200,
    "LocalHost:1": 200,
    "127.0.0.1:8000": 200,
    "[::1]:8000": 200,
    "[::1]": 200,
    "evil.example": 421,
    "evil.example:8000": 421,
    "localhost.evil.example": 421,
    "127.0.0.1.evil.example:8000": 421,
    "127.0.0.1:80@evil.example": 421,
    "localhost:x": 421,
    "": 421,
}


def test_names_of_the_server(serve, slate):
    running = serve(slate.served())
    for host, status in NAMES.items():
        for path in ("/", "/v1/models", "/healthz"):
            answer = running.client.get(path, headers={"host": host})
            assert answer.status_code == status, host
            if status == 421:
                assert "localhost" in answer.json()["error"]["message"]
    assert 421 in {entry["status"] for entry in running.log}


def test_a_server_for_other_machines_goes_by_any_name():
    with bind("0.0.0.0", 0) as listener:
        assert own_names(listener) == frozenset()


def test_the_name_that_was_asked_for_is_one_of_them():
    with bind("127.0.0.2", 0) as listener:
        assert own_names(listener) == LOOPBACK_NAMES | {"127.0.0.2"}
    with bind("LOCALHOST", 0) as listener:
        assert own_names(listener) == LOOPBACK_NAMES
        listener.host = "My-Machine"
        assert "my-machine" in own_names(listener)
