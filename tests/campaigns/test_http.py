"""Requests that the description of the server allows, and others: no server error, and every answer as described."""

import time
from dataclasses import replace

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from web.conftest import serving

from taxocaps.workflows.serve import load_models

pytestmark = [pytest.mark.campaign, pytest.mark.slow]
SHORT = 60
"""Requests of each kind in the short form, and in each round of a long one."""
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)


@pytest.fixture
def running(toy_model, tmp_path):
    (model,) = load_models([toy_model]).values()
    with serving(replace(model, feedback=tmp_path / "feedback.sqlite")) as found:
        yield found


def test_whatever_the_description_allows_and_more(running, campaign_options, capsys):
    schema = schemathesis.openapi.from_dict(running.client.get("/openapi.json").json())
    schema.config.update(base_url=running.url)
    operations = [found.ok() for found in schema.get_all_operations()]
    end, number = time.monotonic() + 60 * campaign_options.minutes, 0
    while not number or time.monotonic() < end:
        for operation in operations:
            for mode in MODES[: 1 + (operation.method == "post")]:
                _try(operation, mode, campaign_options.seed + number)
        number += 1
    for path in ("/v1/predict", "/v1/explain"):
        assert {200, 400, 422} <= {entry["status"] for entry in running.log if entry.get("path") == path}
    if campaign_options.minutes:
        tried, refused = len(running.log), sum(400 <= entry.get("status", 0) < 500 for entry in running.log)
        with capsys.disabled():
            print(f"\n\nrequests, seed {campaign_options.seed}: {tried:,} tried, {refused:,} refused\n")  # noqa: T201


def _try(operation, mode, number):
    few = operation.path.startswith("/v1/model/")  # to load a model takes long

    @seed(number)
    @settings(max_examples=5 if few else SHORT, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case):
        case.call_and_validate(checks=CHECKS)

    check()
