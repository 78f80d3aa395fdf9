import json

import yaml


def test_the_configuration_is_shown(run):
    code, out, _ = run("config", "--set", "graph.window=4")
    assert code == 0
    assert yaml.safe_load(out)["graph"]["window"] == 4
    code, out, _ = run("config", "--json")
    assert json.loads(out)["graph"]["window"] == 3
