"""The bearer token."""

import pytest

from taxocaps.errors import ConfigError
from taxocaps.web.token import find_token


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("TAXOCAPS_TOKEN", raising=False)


def test_only_who_knows_it_gets_answers(serve, slate):
    client = serve(slate.served(), token="s3cret").client
    for given in (None, "s3cret", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "Bearer \xff"):
        headers = {} if given is None else {"authorization": given.encode("latin-1")}
        for method, path in [("POST", "/v1/predict"), ("GET", "/v1/model"), ("GET", "/metrics"), ("GET", "/nowhere")]:
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
