"""The files of `deploy` do what the page about production says, as far as a test can start them."""

import configparser
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import taxocaps

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


def unit():
    parser = configparser.ConfigParser(interpolation=None, strict=False, comment_prefixes=("#",))
    parser.optionxform = str
    parser.read(DEPLOY / "taxocaps.service", encoding="utf-8")
    return parser["Service"]


def container():
    """The instructions of the Containerfile, as pairs of name and arguments."""
    lines = (DEPLOY / "Containerfile").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("name", sorted(path.name for path in DEPLOY.iterdir()))
def test_the_page_shows_the_files_as_they_are(name):
    page = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
    assert (DEPLOY / name).read_text(encoding="utf-8").rstrip() in page


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def start(tmp_path):
    """Start a server by its command line; it must answer a stop with exit code 0."""
    started = []

    def start_it(words, **environment):
        server = subprocess.Popen(
            [sys.executable, "-m", "taxocaps", *words],
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
        )
        started.append(server)
        lines = []
        for line in server.stderr:
            lines.append(line)
            if "; Ctrl-C stops" in line:
                return server
        raise AssertionError("".join(lines))

    yield start_it
    for server in started:
        server.terminate()
        assert server.wait(60) == 0
        server.stderr.close()


def ask(port, path, content=None, **headers):
    """The answer of a server; an error if it is one."""
    url = f"http://127.0.0.1:{port}{path}"
    method = "GET" if content is None else "POST"
    return httpx.request(method, url, json=content, headers=headers, timeout=30).raise_for_status().json()


def eventually(action):
    """Try until it succeeds, for half a minute."""
    for _ in range(100):
        with contextlib.suppress(httpx.HTTPError):
            return action()
        time.sleep(0.3)
    return action()


TOKEN = {"Authorization": "Bearer s3cret"}


@pytest.fixture(scope="module")
def model(toy_files, tmp_path_factory):
    """A linear model of the toy documents."""
    folder = tmp_path_factory.mktemp("deployment") / "model"
    taxocaps.train(toy_files.documents, folder, taxonomy=toy_files.taxonomy, model="SVM")
    return folder


@pytest.mark.slow
def test_the_unit_starts_reloads_and_stops_a_server(model, start, tmp_path, port):
    service = unit()
    (tmp_path / "token").write_text("s3cret\n")
    (tmp_path / "taxocaps").mkdir()
    line = service["ExecStart"].replace("/srv/taxocaps/model", str(model))
    line = line.replace("%d", str(tmp_path)).replace("%S", str(tmp_path))
    program, *words = shlex.split(line)
    assert program == "/opt/taxocaps/bin/taxocaps"
    assert not re.search(r"[%$]", " ".join(words))
    server = start([*words, "--port", str(port)], XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert ask(port, "/healthz") == {"status": "ready"}
    assert ask(port, "/v1/models", **TOKEN)["default"] == "model"
    assert service["ExecReload"] == "kill -HUP $MAINPID"
    server.send_signal(signal.SIGHUP)
    eventually(lambda: ask(port, "/v1/model/back", {}, **TOKEN))  # there is a model before this one
    assert ask(port, "/healthz") == {"status": "ready"}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not there")
def test_systemd_understands_the_unit(tmp_path):
    text = (DEPLOY / "taxocaps.service").read_text(encoding="utf-8")
    (tmp_path / "taxocaps.service").write_text(text.replace("/opt/taxocaps/bin/taxocaps", sys.executable))
    verify = ["systemd-analyze", "verify", "--man=no", tmp_path / "taxocaps.service"]
    done = subprocess.run(verify, check=False, capture_output=True, text=True)
    assert "taxocaps.service" not in done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_container_starts_a_server_that_its_health_check_finds(model, start, tmp_path, port):
    instructions = dict(container())
    words = json.loads(instructions["CMD"])
    assert json.loads(instructions["ENTRYPOINT"]) == ["/opt/taxocaps/bin/taxocaps"]
    places = {"/model": str(model), "/data/feedback.sqlite": str(tmp_path / "feedback.sqlite")}
    start([*(places.get(word, word) for word in words), "--port", str(port)], TAXOCAPS_TOKEN="s3cret")
    program, *check = json.loads(instructions["HEALTHCHECK"].removeprefix("CMD "))
    assert program == "/opt/taxocaps/bin/python"
    check[-1] = check[-1].replace(":8000", f":{port}")
    subprocess.run([sys.executable, *check], check=True)


def test_the_container_installs_what_is_there():
    for name, arguments in container():
        if name == "COPY" and not arguments.startswith("--from"):
            *sources, _ = arguments.split()
            assert all((ROOT / source).exists() for source in sources)
    install = next(line for name, line in container() if name == "RUN" and "pip install" in line)
    assert shlex.split(install)[2:] == ["--no-cache-dir", "--constraint", "/source/constraints.txt", "/source[$EXTRAS]"]


def proxied(name, port, server_port):
    """A configuration of `deploy` for a test: other ports, without certificates."""
    text = (DEPLOY / name).read_text(encoding="utf-8").replace("127.0.0.1:8000", f"127.0.0.1:{server_port}")
    if name == "Caddyfile":
        own = "{\n\tadmin off\n}\n"
        return own + text.replace("labels.example.org", f"http://labels.example.org:{port}")
    text = re.sub(r"\n +ssl_\w+ .*", "", text).replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    temporary = "".join(f"{part}_temp_path {part};\n" for part in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"daemon off;\npid nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{text}}}\n"


PROXIES = {
    "nginx.conf": ["nginx", "-e", "stderr", "-p", ".", "-c"],
    "Caddyfile": ["caddy", "run", "--adapter", "caddyfile", "--config"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_lets_clients_reach_the_server_by_another_name(name, model, start, tmp_path, port):
    if not shutil.which(PROXIES[name][0]):
        pytest.skip(f"{PROXIES[name][0]} is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server_port = free.getsockname()[1]
    start(["serve", str(model), "--port", str(server_port)])
    (tmp_path / name).write_text(proxied(name, port, server_port))
    environment = {**os.environ, "HOME": str(tmp_path)}
    proxy = subprocess.Popen([*PROXIES[name], str(tmp_path / name)], cwd=tmp_path, env=environment)
    try:
        found = eventually(lambda: ask(port, "/v1/models", Host="labels.example.org"))
        assert found["default"] == "model"
        with pytest.raises(httpx.HTTPError) as refused:
            ask(port, "/v1/predict", {"text": "x" * 5_000_000}, Host="labels.example.org")
        assert not isinstance(refused.value, httpx.HTTPStatusError) or refused.value.response.status_code == 413
    finally:
        proxy.terminate()
        proxy.wait(30)
