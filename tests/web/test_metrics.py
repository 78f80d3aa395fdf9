"""Counts for Prometheus."""

from prometheus_client.parser import text_string_to_metric_families

from taxocaps.web.metrics import Metrics


def read(metrics):
    families = text_string_to_metric_families(metrics.text().decode())
    return {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}


def test_counts():
    metrics, waiting = Metrics(), [3]
    metrics.request("/v1/predict", 200, 0.02, 5)
    metrics.request("/v1/predict", 200, 0.2, 2)
    metrics.request("other", 404, 0.001, 0)
    metrics.batches("m")(7)
    metrics.watch_queue("m", lambda: waiting[0])
    found = read(metrics)
    assert found["taxocaps_requests_total", ("path", "/v1/predict"), ("status", "200")] == 2
    assert found["taxocaps_requests_total", ("path", "other"), ("status", "404")] == 1
    assert found[("taxocaps_documents_total",)] == 7
    assert found["taxocaps_request_seconds_bucket", ("le", "0.025"), ("path", "/v1/predict")] == 1
    assert found["taxocaps_batch_documents_sum", ("model", "m")] == 7
    assert found["taxocaps_queue_documents", ("model", "m")] == 3
    waiting[0] = 0
    assert read(metrics)["taxocaps_queue_documents", ("model", "m")] == 0


def test_two_servers_count_apart():
    first, second = Metrics(), Metrics()
    first.request("/healthz", 200, 0.001, 0)
    assert ("taxocaps_requests_total", ("path", "/healthz"), ("status", "200")) not in read(second)


def test_the_metrics_of_a_server(serve, slate):
    client = serve(slate.served()).client
    client.post("/v1/predict", json={"documents": [{"text": "a"}, {"text": "b"}]})
    client.post("/v1/predict", json={"text": 1})
    client.get("/nowhere")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = {
        (s.name, *sorted(s.labels.items())): s.value
        for f in text_string_to_metric_families(answer.text)
        for s in f.samples
    }
    assert found["taxocaps_requests_total", ("path", "/v1/predict"), ("status", "200")] == 1
    assert found["taxocaps_requests_total", ("path", "/v1/predict"), ("status", "422")] == 1
    assert found["taxocaps_requests_total", ("path", "other"), ("status", "404")] == 1
    assert found[("taxocaps_documents_total",)] == 2
    assert found["taxocaps_queue_documents", ("model", "slate")] == 0
