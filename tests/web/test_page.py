"""The page in a real browser: what a person does, sees and hears about."""

import csv
import json
import re
import shutil

import pytest

from taxocaps.workflows.serve import load_models

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
TEXT = "The striker scored two goals for his club. The keeper of the other club was beaten. 🐈 The referee saw it."
EVIL = "<img src=x onerror=\"document.title='broken'\"> striker club <script>document.title='broken'</script>"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: neither chromium nor google-chrome is on the PATH"),
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def running(serve_all, toy_model, tmp_path_factory):
    """Two models: the toy one, and the same under another name."""
    other = tmp_path_factory.mktemp("other") / "other"
    shutil.copytree(toy_model, other)
    return serve_all(*load_models([toy_model, other]).values())


@pytest.fixture
def open_page(browser, running):
    """Open the page, as the options of a browser's context say; at the end, nothing may have gone wrong unseen."""
    opened = []

    def call(server=running, errors=0, **options):
        context = browser.new_context(accept_downloads=True, **options)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.requests, page.errors, page.wanted_errors = [], [], errors
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda said: said.type in ("error", "warning") and page.errors.append(said.text))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        opened.append((context, page, server))
        page.goto(server.url)
        return page

    yield call
    for context, page, server in opened:
        assert all(url.startswith((f"{server.url}/", "blob:")) for url in page.requests), page.requests
        assert page.title() == "taxocaps"  # also a round trip, after which all that was said has arrived
        assert len(page.errors) == page.wanted_errors, page.errors
        context.close()


def label(page, text=TEXT):
    page.fill("#text", text)
    page.click("#go")
    page.wait_for_selector("#meters table, #why-status:has-text('Nothing can be explained')")


def given(page):
    return set(page.eval_on_selector_all(".tree .label:not(.missed)", "all => all.map(one => one.dataset.label)"))


def move_cut(page, value):
    page.eval_on_selector(
        "#cut", "(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }", value
    )


def predicted(running, **asked):
    answer = running.client.post("/v1/predict", json={"text": TEXT, **asked})
    return {one["label"] for one in answer.json()["predictions"][0]["labels"]}


def test_labels_are_those_of_the_server_at_every_cut_without_asking_it(open_page, running):
    page = open_page()
    label(page)
    assert given(page) == predicted(running)
    assert "as the model was trained" in page.inner_text("#count")
    asked, seen, usual = len(page.requests), set(), page.input_value("#cut")
    for cut in (0, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.8, 1):
        move_cut(page, cut)
        assert given(page) == predicted(running, threshold=cut), cut
        assert page.inner_text("#cut-value") == f"{cut:.2f}"
        seen.add(len(given(page)))
    assert len(seen) > 1  # labels came and went
    assert len(page.requests) == asked
    page.click("#trained")
    assert given(page) == predicted(running)
    assert page.get_attribute("#trained", "aria-pressed") == "true"
    assert page.input_value("#cut") == usual


@pytest.mark.parametrize("hierarchy", ["as-is", "add-ancestors", "drop-orphans"])
def test_the_rules_of_the_page_are_those_of_the_server(open_page, running, hierarchy):
    page = open_page()
    asked = {"text": TEXT, "top_k": 100, "hierarchy": "as-is"}
    (best,) = running.client.post("/v1/predict", json=asked).json()["predictions"]
    scores = [[one["label"], one["score"]] for one in best["labels"]]
    for cut, at_least in [(0, 0), (0.45, 0), (0.5, 2), (0.55, 0), (1, 3)]:
        found = page.evaluate(
            """async ([card, taxonomy, scores, cut]) => {
            const { Model } = await import("/page/model.js");
            return [...new Model(card, taxonomy).given({ scores: new Map(scores), warning: null }, cut)]; }""",
            [{"hierarchy": hierarchy, "at_least": at_least}, running.client.get("/v1/taxonomy").json(), scores, cut],
        )
        assert set(found) == predicted(running, threshold=cut, at_least=at_least, hierarchy=hierarchy)


def test_ancestors_are_found_through_labels_that_cannot_be_given_and_each_once(open_page):
    page = open_page()

    def chosen(hierarchy, taxonomy, scores):
        return page.evaluate(
            """async ([card, labels, scores]) => {
            const { Model } = await import("/page/model.js");
            const model = new Model(card, { roots: [], labels });
            return [...model.given({ scores: new Map(scores), warning: null }, 0.5)]; }""",
            [{"hierarchy": hierarchy, "at_least": 0}, taxonomy, scores],
        )

    def placed(name, parents, threshold=0.5):
        return {"label": name, "title": name, "level": 1, "parents": parents, "threshold": threshold}

    # As in the example of corpus.classes.Classes: oil cannot be given, so the nearest above crude is trade.
    oil = [placed("all", [], None), placed("trade", ["all"]), placed("oil", ["trade"], None), placed("crude", ["oil"])]
    assert chosen("drop-orphans", oil, [["trade", 0.1], ["crude", 0.9]]) == []
    assert set(chosen("drop-orphans", oil, [["trade", 0.8], ["crude", 0.9]])) == {"trade", "crude"}
    assert set(chosen("add-ancestors", oil, [["trade", 0.1], ["crude", 0.9]])) == {"trade", "crude"}
    # 2 to the power of 60 ways lead up from the lowest.
    ways = [
        placed(f"{side}{level}", [f"{one}{level - 1}" for one in "ab" if level]) for level in range(61) for side in "ab"
    ]
    assert len(chosen("add-ancestors", ways, [["a60", 0.9]])) == 121


DROP = """([selector, name, text]) => { const data = new DataTransfer();
    if (name) data.items.add(new File([text], name)); else data.setData("text", text);
    const event = kind => new DragEvent(kind, { dataTransfer: data, cancelable: true, bubbles: true });
    const place = document.querySelector(selector);
    return [place.dispatchEvent(event("dragover")), place.dispatchEvent(event("drop"))]; }"""


def test_a_file_is_dropped_and_keeps_its_name_until_its_text_is_changed(open_page):
    page = open_page()
    assert page.evaluate(DROP, ["main", "story.txt", TEXT]) == [False, False]
    page.wait_for_selector("#meters table")
    assert page.input_value("#text") == TEXT
    assert page.inner_text("#tinted") == TEXT
    assert saved_ids(page) == ["story.txt"]
    label(page, TEXT + " Again.")
    page.wait_for_function("() => document.getElementById('tinted').textContent.endsWith('Again.')")
    assert saved_ids(page) == ["1"]


def test_a_text_that_is_dragged_is_left_to_the_browser(open_page):
    page = open_page()
    page.fill("#text", TEXT)
    assert page.evaluate(DROP, ["#text", None, "striker"]) == [True, True]
    assert page.input_value("#text") == TEXT
    assert "dropping" not in (page.get_attribute("body", "class") or "")


def saved_ids(page):
    with page.expect_download() as download:
        page.click("#save-json")
    return [one["id"] for one in json.loads(download.value.path().read_text())["predictions"]]


def test_quick_clicks_cost_one_explanation(open_page):
    page = open_page()
    label(page)
    asked = len(page.requests)
    names = page.evaluate(
        """() => { const all = () => [...document.querySelectorAll(".tree .label")];
        const names = all().filter(one => one.ariaPressed === "false").map(one => one.dataset.label);
        for (const name of names) all().find(one => one.dataset.label === name).click();
        return names; }"""
    )
    assert len(names) > 1
    assert page.get_attribute("#reasons", "aria-busy") == "true"
    page.wait_for_selector("#reasons:not([aria-busy])")
    assert [url.rpartition("/")[2] for url in page.requests[asked:]] == ["explain"]
    # What is known already is shown at once, and nothing is waited for any more.
    page.evaluate(
        """([first, last]) => { for (const name of [first, last])
        [...document.querySelectorAll(".tree .label")].find(one => one.dataset.label === name).click(); }""",
        [names[0], names[-1]],
    )
    assert page.get_attribute("#reasons", "aria-busy") is None
    assert page.inner_text("#why-status") == ""


def test_the_text_is_tinted_for_the_label_that_is_chosen(open_page, running):
    page = open_page()
    label(page)
    assert page.inner_text("#tinted") == TEXT
    for place in (0, page.locator(".tree .label").count() - 1):
        button = page.locator(".tree .label").nth(place)
        name = button.get_attribute("data-label")
        button.click()
        page.wait_for_function("() => document.getElementById('why-status').textContent === ''")
        wanted = running.client.post("/v1/explain", json={"text": TEXT, "labels": [name]}).json()["reasons"][0]
        weights = {one["word"]: one["weight"] for one in wanted["words"]}
        titles = page.eval_on_selector_all("#tinted mark", "all => all.map(one => [one.textContent, one.title])")
        assert titles[0][0].lower() == titles[0][1].partition(":")[0]
        assert weights
        for _, title in titles:
            word, _, weight = title.rpartition(": ")
            assert float(weight) == pytest.approx(weights.get(word, 0), rel=0.01)
        assert page.locator("#tinted mark[style*=rgba]").count() > 0
        assert page.locator(".tree .label[aria-pressed=true]").get_attribute("data-label") == name


def test_words_matrix_and_graph(open_page, running):
    page = open_page()
    label(page)
    found = running.client.post("/v1/explain", json={"text": TEXT}).json()
    assert not page.is_visible("#matrix")
    page.click("#matrix-part summary")
    rows = page.eval_on_selector_all("#matrix th", "all => all.map(one => one.textContent)")
    assert rows == [row["central_word"] for row in found["matrix"]][:12]
    strips = page.locator("#matrix tr").first.locator("td.word").first.locator(".strip")
    assert strips.count() == len(found["matrix"][0]["attention"]) > 0
    page.click("#graph-part summary")
    page.wait_for_selector("#graph .node")  # the browser tells of an open part a moment after the click
    nodes = page.locator("#graph .node")
    assert nodes.count() == len(found["graph"]["nodes"])
    before = nodes.first.get_attribute("transform")
    nodes.first.locator("circle").hover()
    page.wait_for_function("() => document.getElementById('note').textContent")
    assert page.inner_text("#note").startswith(found["graph"]["nodes"][0]["word"] + ": closeness")
    page.mouse.down()
    page.mouse.move(300, 700)
    page.mouse.up()
    page.wait_for_function(
        "before => document.querySelector('#graph .node').getAttribute('transform') !== before", arg=before
    )
    page.click("[data-key='+']")
    assert "scale(1.25)" in page.locator("#graph > g").get_attribute("transform")


def test_the_keyboard_is_enough(open_page):
    page = open_page()
    page.wait_for_selector("#model-field:not([hidden])")

    def tab_to(selector):
        for _ in range(40):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"no way to {selector}")

    tab_to("#text")
    page.keyboard.type("The striker scored for his club.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#meters table")
    tab_to("#cut")
    assert page.eval_on_selector("#cut", "one => getComputedStyle(one).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    assert "at the cut" in page.inner_text("#count")
    tab_to("#trained")
    page.keyboard.press("Enter")
    assert "as the model was trained" in page.inner_text("#count")
    tab_to(".tree .label[aria-pressed=false]")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.matches('.tree .label[aria-pressed=true]')")
    tab_to("#graph-part summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#graph")
    tab_to("#graph")
    page.keyboard.press("+")
    assert "scale(1.25)" in page.locator("#graph > g").get_attribute("transform")


def test_a_phone_at_night(open_page, tmp_path):
    page = open_page(viewport={"width": 360, "height": 740}, color_scheme="dark", has_touch=True)
    label(page)
    page.click("#matrix-part summary")
    page.click("#graph-part summary")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    red, green, blue = map(
        int, re.findall(r"\d+", page.eval_on_selector("body", "one => getComputedStyle(one).backgroundColor"))[:3]
    )
    assert max(red, green, blue) < 60
    left, right = (page.locator(part).bounding_box() for part in ("#results > :first-child", "#reasons"))
    assert right["y"] >= left["y"] + left["height"]
    page.screenshot(path=tmp_path / "phone.png", full_page=True)
    assert (tmp_path / "phone.png").stat().st_size > 10_000


def test_another_model(open_page):
    page = open_page()
    label(page)
    page.select_option("#model", "other")
    page.wait_for_selector("#status:has-text('1 document labelled by other')")
    with page.expect_download() as download:
        page.click("#save-json")
    assert json.loads(download.value.path().read_text())["model"] == "other"


def test_what_a_document_says_is_never_run(open_page):
    page = open_page()
    label(page, EVIL)
    assert page.inner_text("#tinted") == EVIL
    page.set_input_files(
        "#file",
        {
            "name": "evil.jsonl",
            "mimeType": "text/plain",
            "buffer": "\n".join(json.dumps({"id": EVIL, "text": EVIL}) for _ in range(2)).encode(),
        },
    )
    page.wait_for_selector("#document-field:not([hidden])")
    page.wait_for_selector("#meters table")
    assert page.locator("main img, main script").count() == 0


def test_a_file_of_many_documents_and_downloads(open_page, running):
    page = open_page()
    rows = 'id,text\r\nfirst,"The striker, ""scored""\nfor his club."\r\n,Astronomers saw a comet.\r\n"third",\r\n'
    page.set_input_files("#file", {"name": "many.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.wait_for_selector("#meters table")
    assert "3 documents" in page.inner_text("#many-name")
    assert page.inner_text("#tinted") == 'The striker, "scored"\nfor his club.'
    documents = [
        {"id": "first", "text": 'The striker, "scored"\nfor his club.'},
        {"id": "2", "text": "Astronomers saw a comet."},
        {"id": "third", "text": ""},
    ]
    wanted = running.client.post("/v1/predict", json={"documents": documents}).json()
    with page.expect_download() as download:
        page.click("#save-json")
    found = json.loads(download.value.path().read_text())
    assert [
        (one["id"], [(label["label"], label["path"]) for label in one["labels"]]) for one in found["predictions"]
    ] == [(one["id"], [(label["label"], label["path"]) for label in one["labels"]]) for one in wanted["predictions"]]
    with page.expect_download() as download:
        page.click("#save-csv")
    lines = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert len(lines) == sum(len(one["labels"]) or 1 for one in wanted["predictions"])
    assert lines[-1] == {"id": "third", "label": "", "title": "", "score": "", "path": ""}
    page.select_option("#document", "2")
    assert "No labels: the text has no words" in page.inner_text("#count")


def test_tables_with_tabs_and_cells_that_look_like_formulas(open_page):
    page = open_page()
    found = page.evaluate(
        """async text => {
        const { readFile } = await import("/page/documents.js"), { asCsv } = await import("/page/downloads.js");
        const { documents } = await readFile(new File([text], "some.TSV"));
        const model = { card: { name: "m" }, title: () => "t", path: label => [label] };
        const scored = documents.map(one => ({ ...one, scores: new Map([["@b", -0.5]]) }));
        return [documents, asCsv(model, scored, () => new Set(["@b"]))]; }""",
        'id\ttext\n=1+1\t"a\tb"\n-2\td, e\n',
    )
    assert found[0] == [{"id": "=1+1", "text": "a\tb"}, {"id": "-2", "text": "d, e"}]
    rows = [(row["id"], row["label"], row["score"]) for row in csv.DictReader(found[1].splitlines())]
    assert rows == [("'=1+1", "'@b", "-0.5"), ("'-2", "'@b", "-0.5")]


FILES = {
    "bad.jsonl": (b'{"text": "a"}\n{"txt": 1}', "bad.jsonl, line 2: the field text is missing"),
    "worse.jsonl": (b"{", "worse.jsonl, line 1: this is not JSON"),
    "bad.csv": (b"id,body\n1,a", "has no column text in its first line; it has: id, body"),
    "long.csv": (b"id,text\n1,a,b", "long.csv, line 2: 3 cells where the header names 2."),
    "short.tsv": (b'id\ttext\r\n1\t"a\r\nb"\r\n\r\n2\r\n', "short.tsv, line 5: 1 cell where the header names 2."),
    "quote.csv": (b'text\na\n"b', "stray quote in line 3"),
    "picture.txt": (b"\xff\xfe\x00", "not a text in UTF-8"),
    "none.jsonl": (b"\n", "has no documents"),
}


def test_mistakes_are_told_in_words(open_page):
    page = open_page()
    page.click("#go")
    assert "no text yet" in page.inner_text("#error")
    for name, (content, message) in FILES.items():
        page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content})
        page.wait_for_function("message => document.getElementById('error').textContent.includes(message)", arg=message)
    label(page)
    assert not page.is_visible("#error")


def test_errors_of_the_server_are_told_in_words(open_page, serve, running):
    small = serve(*running.service.models.values(), text_length=200, explain_words=5)
    page = open_page(small, errors=1)  # the browser itself notes each answer that is an error
    page.fill("#text", "striker " * 20)
    page.click("#go")
    page.wait_for_selector("#why-error:has-text('at most 5 words')")
    assert given(page)
    page.fill("#text", "x" * 201)
    page.click("#go")
    page.wait_for_selector("#error:has-text('Document 1: at most 200 characters; got 201.')")
    assert not page.is_visible("#progress")
    asked = len(page.requests)
    rows = f"id,text\ngood,{'🐈' * 200}\nbad,{'🐈' * 201}\n"
    page.set_input_files("#file", {"name": "many.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.wait_for_selector("#error:has-text('Document bad: at most 200 characters; got 201.')")
    assert len(page.requests) == asked


def test_a_document_that_fits_into_no_request_is_named(open_page, serve, slate):
    page = open_page(serve(slate.served(), body_bytes=2_000))
    page.wait_for_selector("#model-field:not([hidden])")
    page.fill("#text", "é" * 800)
    page.click("#go")
    page.wait_for_selector("#error:has-text('Document 1: at most 2,000 bytes; got 2,')")
    assert slate.batches == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_busy_server_is_asked_once_more(open_page, times):
    page = open_page(errors=times)
    page.wait_for_selector("#model-field:not([hidden])")
    busy = {"status": 503, "headers": {"Retry-After": "0.2"}, "json": {"error": {"message": "too much is waiting"}}}
    page.route("**/v1/predict", lambda route: route.fulfill(**busy), times=times)
    if times == 1:
        label(page)
        assert given(page)
    else:
        page.fill("#text", TEXT)
        page.click("#go")
        page.wait_for_selector("#error:has-text('Too much is waiting.')")


def test_a_server_that_is_gone(open_page, serve, running):
    gone = serve(*running.service.models.values())
    page = open_page(gone, errors=1)
    page.wait_for_selector("#model-field:not([hidden])")
    gone.server.stop()
    gone.thread.join(10)
    page.fill("#text", TEXT)
    page.click("#go")
    page.wait_for_selector("#error:has-text('cannot be reached')")


def test_waiting_shows_and_a_second_request_replaces_the_first(open_page, serve, slate):
    page = open_page(serve(slate.served()))
    page.wait_for_selector("#model-field:not([hidden])")
    slate.open.clear()
    page.fill("#text", "b")
    page.click("#go")
    page.wait_for_selector("#progress:not([hidden])")
    assert page.inner_text("#status") == "Labelling 1 document…"
    assert page.get_attribute("#go", "aria-busy") == "true"
    page.fill("#text", "a")
    page.click("#go")
    slate.open.set()
    page.wait_for_selector(".tree [data-label=a]")
    page.wait_for_timeout(200)
    assert given(page) == {"a"}
    assert not page.is_visible("#progress")


def test_the_token_is_asked_for_and_sent(open_page, serve, running):
    guarded = serve(*running.service.models.values(), token="s3cret")
    page = open_page(guarded, errors=2)
    page.wait_for_selector("#token-form:not([hidden])")
    assert not page.is_visible("#error")
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#error:has-text('does not know this token')")
    asked = len(page.requests)
    for strange in ("s3crét", "s3 cret", "„s3cret“"):
        page.fill("#token", strange)
        page.keyboard.press("Enter")
        page.wait_for_selector("#error:has-text('only letters, digits and signs of ASCII')")
        page.eval_on_selector("#error", "one => { one.textContent = ''; }")
    assert len(page.requests) == asked
    page.fill("#token", "s3cret")
    page.keyboard.press("Enter")
    page.wait_for_selector("#token-form", state="hidden")
    label(page)
    assert given(page)
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]


def test_scores_that_are_not_held_are_told(open_page, serve, new_slate):
    from taxocaps.workflows.predict import Prediction, ScoredLabel

    names = [f"label {number}" for number in range(600)]

    class Many(new_slate):
        def _answer(self, job):
            if not hasattr(job, "documents"):
                return super()._answer(job)
            labels = tuple(ScoredLabel(name, 1 - place / 600, (name,)) for place, name in enumerate(names))
            return tuple(Prediction(document.id, labels[: job.choice.top_k or 3]) for document in job.documents)

    model = Many().served("many")
    placed = [{"label": name, "title": name, "level": 1, "parents": [], "threshold": 0.99} for name in names]
    model = type(model)("many", model.card, {"model": "many", "roots": [], "labels": placed}, model.answer)
    page = open_page(serve(model))
    page.fill("#text", TEXT)
    page.click("#go")
    page.wait_for_selector("#count:has-text('3 labels')")
    told = "Labels with scores below 0.17 are not held here, so some may be missing, in downloads too."
    for cut, left, also in [(0.25, 351, ""), (0.1, 400, f" {told}")]:
        move_cut(page, cut)
        assert page.inner_text("#more") == f"And {left} more, which downloads have too.{also}"
    page.click("#trained")
    assert page.inner_text("#more") == ""


def test_ten_thousand_labels_and_a_long_text_do_not_freeze_it(open_page, serve, new_slate):
    from taxocaps.workflows.predict import Prediction, ScoredLabel

    names = [f"label {number}" for number in range(10_000)]

    class Large(new_slate):
        def _answer(self, job):
            if not hasattr(job, "documents"):
                return super()._answer(job)
            most = job.choice.top_k or len(names)
            labels = tuple(ScoredLabel(name, 1 - place / 10_000, (name,)) for place, name in enumerate(names[:most]))
            return tuple(Prediction(document.id, labels) for document in job.documents)

    model = Large().served("large")
    placed = [{"label": name, "title": name, "level": 1, "parents": [], "threshold": 0.0} for name in names]
    model = type(model)("large", model.card, {"model": "large", "roots": [], "labels": placed}, model.answer)
    page = open_page(serve(model, text_length=1_000_000))
    page.wait_for_selector("#model-field:not([hidden])")
    page.eval_on_selector("#text", "one => { one.value = 'word '.repeat(100_000); }")
    page.click("#go")
    page.wait_for_selector("#more:has-text('And 9,900 more')")
    assert page.locator(".tree .label").count() <= 110
    spent = page.evaluate(
        """() => { const begin = performance.now(), cut = document.getElementById("cut");
        for (let step = 0; step <= 20; step += 1) { cut.value = step / 20; cut.dispatchEvent(new Event("input")); }
        document.body.getBoundingClientRect(); return performance.now() - begin; }"""
    )
    assert spent / 21 < 250  # milliseconds for each step of the slider, on a busy machine
