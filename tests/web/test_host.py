"""A server of this machine answers to its own names only."""

from taxocaps.web.host import LOOPBACK_NAMES
from taxocaps.web.server import bind, own_names

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


def test_names(serve, slate):
    running = serve(slate.served())
    for host, status in NAMES.items():
        for path in ("/", "/v1/model", "/healthz"):
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
