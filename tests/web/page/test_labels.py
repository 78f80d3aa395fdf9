"""Labels, thresholds and models: what the page shows is what the server would say."""

import json
from dataclasses import replace

import pytest

pytestmark = pytest.mark.slow


def test_labels_are_those_of_the_server_at_every_threshold_without_asking_it(open_page, predicted):
    page = open_page()
    page.label()
    assert page.given() == predicted()
    assert "as the model was trained" in page.inner_text("#count")
    asked, seen, usual = len(page.requests), set(), page.input_value("#threshold")
    for threshold in (0, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.8, 1):
        page.move_threshold(threshold)
        assert page.given() == predicted(threshold=threshold), threshold
        assert page.inner_text("#threshold-value") == f"{threshold:.2f}"
        seen.add(len(page.given()))
    assert len(seen) > 1  # labels came and went
    assert len(page.requests) == asked
    page.click("#trained")
    assert page.given() == predicted()
    assert page.get_attribute("#trained", "aria-pressed") == "true"
    assert page.input_value("#threshold") == usual


@pytest.mark.parametrize("hierarchy", ["as-is", "add-ancestors", "drop-orphans"])
def test_the_rules_of_the_page_are_those_of_the_server(open_page, running, hierarchy, predicted, text):
    page = open_page()
    asked = {"text": text, "top_k": 100, "hierarchy": "as-is"}
    (best,) = running.client.post("/v1/predict", json=asked).json()["predictions"]
    scores = [[one["label"], one["score"]] for one in best["labels"]]
    taxonomy = running.client.get("/v1/taxonomy").json()
    for threshold, at_least in [(0, 0), (0.45, 0), (0.5, 2), (0.55, 0), (1, 3)]:
        found = page.evaluate(
            """async ([card, taxonomy, scores, threshold]) => {
            const { Model } = await import("/page/model.js");
            return [...new Model(card, taxonomy).given({ scores: new Map(scores), warning: null }, threshold)]; }""",
            [
                {"hierarchy": hierarchy, "at_least": at_least},
                taxonomy,
                scores,
                threshold,
            ],
        )
        assert set(found) == predicted(threshold=threshold, at_least=at_least, hierarchy=hierarchy)


def test_ancestors_need_no_score_of_their_own_and_each_comes_once(open_page):
    page = open_page()

    def chosen(hierarchy, taxonomy, scores):
        return page.evaluate(
            """async ([card, labels, scores]) => {
            const { Model } = await import("/page/model.js");
            const model = new Model(card, { roots: ["all"], labels });
            return [...model.given({ scores: new Map(scores), warning: null }, 0.5)]; }""",
            [{"hierarchy": hierarchy, "at_least": 0}, taxonomy, scores],
        )

    def placed(name, parents, threshold=0.5):
        return {"label": name, "name": name, "level": 1, "parents": parents, "threshold": threshold}

    # As in the example of corpus.labels.Classes: oil has no score, so the nearest above crude is trade.
    oil = [placed("all", [], None), placed("trade", ["all"]), placed("oil", ["trade"], None), placed("crude", ["oil"])]
    assert chosen("drop-orphans", oil, [["trade", 0.1], ["crude", 0.9]]) == []
    assert set(chosen("drop-orphans", oil, [["trade", 0.8], ["crude", 0.9]])) == {"trade", "crude"}
    assert set(chosen("add-ancestors", oil, [["trade", 0.1], ["crude", 0.9]])) == {"trade", "oil", "crude"}
    # 2 to the power of 60 ways lead up from the lowest.
    ways = [
        placed(f"{side}{level}", [f"{one}{level - 1}" for one in "ab" if level]) for level in range(61) for side in "ab"
    ]
    assert len(chosen("add-ancestors", ways, [["a60", 0.9]])) == 121


def test_ancestors_are_as_probable_as_what_is_below_them(open_page):
    found = open_page().evaluate(
        """async () => {
        const { Model } = await import("/page/model.js"), { asCsv } = await import("/page/downloads.js");
        const place = (label, parents, threshold) => ({ label, name: label, level: 1, parents, threshold });
        const model = new Model({ hierarchy: "add-ancestors", at_least: 0 }, { roots: ["all"], labels: [
            place("all", [], null), place("trade", ["all"], 0.5), place("oil", ["trade"], null),
            place("crude", ["oil"], 0.5)] });
        const one = { id: "1", scores: new Map([["trade", 0.25], ["crude", 0.75]]), warning: null };
        return asCsv(model, [one], found => model.given(found, 0.5)); }"""
    )
    assert found.splitlines() == [
        "id,label,name,score,paths",
        "1,trade,trade,0.75,trade",
        "1,oil,oil,0.75,trade > oil",
        "1,crude,crude,0.75,trade > oil > crude",
    ]


def test_the_paths_of_the_page_are_those_of_the_server(open_page):
    from taxocaps.taxonomy.tree import Taxonomy

    page = open_page()
    ladder = [(f"{one}{level}", f"{two}{level + 1}") for level in range(9) for one in "ab" for two in "ab"]
    several = [("x", "y"), ("y", "z"), ("x", "z"), ("w", "z")]
    for edges in ([("all", "a0"), ("all", "b0"), ("all", "a3"), *ladder], several):
        tree = Taxonomy.from_edges(edges)
        labels = [
            {"label": one, "name": one, "level": tree.depth(one), "parents": tree.parents(one), "threshold": None}
            for one in tree
        ]
        found = page.evaluate(
            """async taxonomy => {
            const { Model } = await import("/page/model.js");
            const model = new Model({}, taxonomy);
            return taxonomy.labels.map(one => model.paths(one.label)); }""",
            {"roots": tree.roots, "labels": labels},
        )
        assert found == [[list(path) for path in tree.paths(name)] for name in tree]


def test_names_have_ids_beside_them_and_labels_are_on_all_their_paths(open_page):
    page = open_page()
    drawn = page.evaluate(
        """async () => {
        const { drawLabels } = await import("/page/labels.js");
        const box = document.createElement("div");
        const describe = label => ({ name: { x: "Odd one" }[label] ?? label, score: label === "x" ? 0.9 : null,
            threshold: 0.5, isGiven: label === "x", canChoose: false });
        drawLabels(box, [["m", "x"], ["n", "x"]], describe, {});
        return [...box.querySelectorAll(".name")].map(one => one.textContent); }"""
    )
    assert drawn == ["m", "Odd one x", "n", "Odd one x"]


def test_another_model(open_page):
    page = open_page()
    page.label()
    page.select_option("#model", "other")
    page.wait_for_selector("#status:has-text('1 document labelled by other')")
    with page.expect_download() as download:
        page.click("#save-json")
    assert json.loads(download.value.path().read_text())["model"] == "other"


def test_scores_that_were_not_loaded_are_mentioned(open_page, serve, new_slate, text):
    from taxocaps.results import Prediction, ScoredLabel, TaxonomyLabel, TaxonomyView

    names = [f"label {number}" for number in range(600)]

    class Many(new_slate):
        def _answer(self, job):
            if not hasattr(job, "documents"):
                return super()._answer(job)
            labels = tuple(ScoredLabel(name, name, 1 - place / 600, ((name,),)) for place, name in enumerate(names))
            return tuple(Prediction(document.id, labels[: job.options.top_k or 3]) for document in job.documents)

    model = Many().served("many")
    labels = tuple(TaxonomyLabel(name, name, 1, (), 0.99) for name in names)
    model = replace(model, taxonomy=TaxonomyView("many", (), labels))
    page = open_page(serve(model))
    page.fill("#text", text)
    page.click("#go")
    page.wait_for_selector("#count:has-text('3 labels')")
    told = "Labels with scores below 0.17 were not loaded, so some labels may be missing, also in downloads."
    for threshold, left, also in [(0.25, 351, ""), (0.1, 400, f" {told}")]:
        page.move_threshold(threshold)
        assert page.inner_text("#more") == f"And {left} more, which are in the downloads.{also}"
    page.click("#trained")
    assert page.inner_text("#more") == ""


def test_scores_that_are_no_probabilities_are_told(open_page, serve, slate):
    model = slate.served()
    page = open_page(serve(replace(model, card=replace(model.card, is_calibrated=False))))
    page.fill("#text", "a")
    page.click("#go")
    page.wait_for_selector("#count:has-text('1 label')")
    assert page.inner_text("#more").startswith("Scores are not probabilities: the model had too few documents")


def test_ten_thousand_labels_and_a_long_text_do_not_freeze_it(open_page, serve, new_slate):
    from taxocaps.results import Prediction, ScoredLabel, TaxonomyLabel, TaxonomyView

    names = [f"label {number}" for number in range(10_000)]

    class Large(new_slate):
        def _answer(self, job):
            if not hasattr(job, "documents"):
                return super()._answer(job)
            most = job.options.top_k or len(names)
            labels = tuple(
                ScoredLabel(name, name, 1 - place / 10_000, ((name,),)) for place, name in enumerate(names[:most])
            )
            return tuple(Prediction(document.id, labels) for document in job.documents)

    model = Large().served("large")
    labels = tuple(TaxonomyLabel(name, name, 1, (), 0.0) for name in names)
    model = replace(model, taxonomy=TaxonomyView("large", (), labels))
    page = open_page(serve(model, text_length=1_000_000))
    page.wait_for_selector("#model-field:not([hidden])")
    page.eval_on_selector("#text", "one => { one.value = 'word '.repeat(100_000); }")
    page.click("#go")
    page.wait_for_selector("#more:has-text('And 9,900 more')")
    assert page.locator(".tree .label").count() <= 110
    spent = page.evaluate(
        """() => { const begin = performance.now(), slider = document.getElementById("threshold");
        for (let step = 0; step <= 20; step += 1) {
            slider.value = step / 20; slider.dispatchEvent(new Event("input")); }
        document.body.getBoundingClientRect(); return performance.now() - begin; }"""
    )
    assert spent / 21 < 250  # milliseconds for each step of the slider, on a busy machine
