"""The training report holds all figures as data, whatever labels are called, and a browser draws them."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.metrics.diagnosis import diagnose
from taxocaps.metrics.evaluation import evaluate
from taxocaps.report.model_card import ModelCard
from taxocaps.report.training_page import TrainingFacts, training_page
from taxocaps.taxonomy.tree import Taxonomy

EVIL = "<script>alert('x')</script>"
# "group" and the root are no labels of the model; "cat" has two parents, and stands below the nearer one.
TAXONOMY = Taxonomy.from_edges(
    [
        ("all", "animal"),
        ("animal", "cat"),
        ("animal", EVIL),
        ("all", "group"),
        ("group", "deep"),
        ("deep", "cat"),
        ("deep", "oak"),
    ],
    titles={"oak": "Oak tree"},
)
CLASSES = Classes(("animal", EVIL, "cat", "oak"), TAXONOMY)
HISTORY = (
    {"epoch": 1, "step": 3, "loss": 0.9, "validation_loss": 1.0, "micro_f1": 0.25, "seconds": 1.0},
    {"epoch": 2, "step": 6, "loss": float("nan"), "validation_loss": float("inf"), "micro_f1": 0.5, "seconds": 2.0},
    {"epoch": 3, "step": 9, "loss": 0.5, "validation_loss": 0.8, "micro_f1": 0.4, "seconds": 3.0},
)


def measured(classes, seed, documents=60):
    """An evaluation and a diagnosis of scores at random; no document carries the last label."""
    generator = np.random.default_rng(seed)
    truth = generator.random((documents, len(classes))) < 0.4
    truth[:, -1] = False
    scores = np.clip(0.4 * truth + 0.7 * generator.random(truth.shape), 0, 1).astype(np.float32)
    predicted = csr_array(scores >= 0.5)
    parents = [classes.taxonomy.parents(name) or ("",) for name in classes.names]
    evaluation = evaluate(
        csr_array(truth), predicted, names=classes.names, levels=classes.levels, scores=scores, unseen={"elm": 2}
    )
    return evaluation, diagnose(csr_array(truth), predicted, scores, parents)


def facts(classes=CLASSES, test=True, **changes):
    validation, diagnosis = measured(classes, seed=1)
    card = ModelCard(
        name=EVIL,
        preset="fast",
        seed=7,
        documents={"train": 300, "dev": 60},
        labels=len(classes),
        parameters=1234,
        is_tuned=True,
        epochs=(3, 2),
        validation=validation,
        test=measured(classes, seed=2)[0] if test else None,
    )
    cuts = np.full(len(classes), 0.5, np.float32)
    return replace(TrainingFacts(card, classes, cuts, None, HISTORY, diagnosis), **changes)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def test_no_label_can_start_a_script_and_no_network_is_needed():
    page = training_page(facts())
    assert page.count("<script") == page.count("</script>") == 2
    assert "innerHTML" not in page
    assert "default-src 'none'" in page
    seen = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: seen.append((tag, dict(attributes)))
    parser.feed(page)
    assert len(seen) > 30
    assert not [tag for tag, attributes in seen if tag in ("link", "img", "iframe") or {"src", "href"} & {*attributes}]


def test_labels_have_the_figures_of_both_evaluations():
    given = facts()
    lines = data_of(training_page(given))["labels"]
    assert [line[:4] for line in lines] == [
        ["animal", None, 1, 0.5],
        [EVIL, None, 2, 0.5],
        ["cat", None, 2, 0.5],
        ["oak", "Oak tree", 3, 0.5],
    ]
    for evaluation, place in ((given.card.validation, 4), (given.card.test, 5)):
        for row, line in zip(evaluation.label_rows, lines, strict=True):
            assert line[place][:2] == [row.support, row.predicted]
            assert line[place][2:] == pytest.approx([row.precision, row.recall, row.f1], abs=1e-4)


def test_levels_add_up_their_labels():
    data = data_of(training_page(facts()))
    for part, place in (("validation", 4), ("test", 5)):
        for level, labels, support, predicted, *shares in data["levels"][part]:
            members = [line[place] for line in data["labels"] if line[2] == level]
            assert labels == len(members)
            assert support == sum(member[0] for member in members)
            assert predicted == sum(member[1] for member in members)
            assert shares[3] == pytest.approx(np.mean([member[4] for member in members]), abs=1e-4)


def test_without_test_documents_there_is_one_part():
    data = data_of(training_page(facts(test=False)))
    assert list(data["summary"]) == list(data["levels"]) == ["validation"]
    assert {len(line) for line in data["labels"]} == {5}


def test_the_curves_of_epochs_and_numbers_that_json_has_not():
    history = data_of(training_page(facts()))["history"]
    assert [row["epoch"] for row in history] == [1, 2, 3]
    assert [row["loss"] for row in history] == [0.9, None, 0.5]
    assert [row["validation_loss"] for row in history] == [1.0, None, 0.8]
    assert {row["macro_f1"] for row in history} == {None}


def test_the_tree_leads_to_every_label_once_by_its_shortest_way():
    data = data_of(training_page(facts()))
    names = [line[0] for line in data["labels"]]
    ways = {}
    for title, above, column in data["tree"]:
        ways[len(ways)] = (*ways.get(above, ()), title)
        assert column == -1 or title in (names[column], "Oak tree")
    assert sorted(ways.values()) == sorted(
        [
            ("animal",),
            ("animal", EVIL),
            ("animal", "cat"),
            ("group",),
            ("group", "deep"),
            ("group", "deep", "Oak tree"),
        ]
    )


def test_a_root_that_is_a_label_stands_in_the_tree():
    assert data_of(training_page(facts(Classes(("all", "animal"), TAXONOMY))))["tree"] == [
        ["all", -1, 0],
        ["animal", -1, 1],
    ]


def test_calibration_thresholds_and_confusions():
    given = facts()
    data = data_of(training_page(given))
    bins, curve = given.diagnosis.reliability, given.diagnosis.curve
    assert [row[4] for row in data["reliability"]] == bins.count.tolist()
    assert [row[2] for row in data["reliability"]] == pytest.approx(bins.mean_score.tolist(), abs=1e-4)
    assert [row[3] for row in data["reliability"]] == pytest.approx(bins.observed.tolist(), abs=1e-4)
    assert [row[1] for row in data["reliability"]][-1] == 1
    assert [row[0] for row in data["curve"]] == pytest.approx(curve.thresholds.tolist(), abs=1e-4)
    assert [row[3] for row in data["curve"]] == pytest.approx(curve.counts.f1.tolist(), abs=1e-4)
    assert [row[1] is None for row in data["curve"]] == (curve.counts.predicted == 0).tolist()
    first = given.diagnosis.confusions[0]
    assert data["confusions"][0][:2] == [first.label, first.instead]
    assert data["confusions"][0][2:5] == [["animal"], first.count, first.carriers]


def thousands(count):
    """A taxonomy of `count` labels with long names, in three levels."""
    tops = [f"subject number {n} of the thesaurus" for n in range(20)]
    middle = [(tops[n % 20], f"a more particular subject {n}") for n in range(count // 10)]
    edges = [("all", top) for top in tops] + middle
    edges += [(middle[n % len(middle)][1], f"something very particular indeed {n}") for n in range(count - len(edges))]
    taxonomy = Taxonomy.from_edges(edges)
    return Classes(taxonomy.names[1:], taxonomy)


def test_four_thousand_labels_make_no_heavy_page():
    assert len(training_page(facts(thousands(4_000))).encode()) < 1_500_000


def dumped(tmp_path, page):
    """The page as chromium has it when its script is done; what the script says goes to the console."""
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    options += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom"]
    options += ["--enable-logging=stderr"]
    done = subprocess.run(["chromium", *options, path.as_uri()], capture_output=True, text=True, timeout=60, check=True)
    assert "CONSOLE" not in done.stderr
    return done.stdout.partition('id="data"')[0]


needs_browser = pytest.mark.skipif(not shutil.which("chromium"), reason="needs the browser chromium")


@pytest.mark.slow
@needs_browser
def test_a_browser_draws_everything(tmp_path):
    body = dumped(tmp_path, training_page(facts()))
    assert body.count('class="plot"') == 4
    assert "kept: 2" in body
    assert "chosen: 0.500" in body
    assert body.count('class="node-line"') == 2  # "animal" and "group"; what is below them is folded
    assert body.count("<script") == 1  # the one that holds the data
    assert "4 labels</span>" in body
    assert body.count("<tr") == 1 + 15 + 2 + 3 + 1 + len(facts().diagnosis.confusions) + 2 + 4
    assert "undefined" not in body
    assert "NaN" not in body


@pytest.mark.slow
@needs_browser
def test_a_browser_says_what_a_model_has_not(tmp_path):
    given = facts(test=False, history=(), top_k=3)
    body = dumped(tmp_path, training_page(replace(given, diagnosis=replace(given.diagnosis, confusions=()))))
    assert body.count('class="plot"') == 2
    assert "there are no learning curves" in body
    assert "gets its 3 labels" in body
    assert "No validation document was given a sibling" in body
    assert "threshold</button>" not in body


@pytest.mark.slow
@needs_browser
def test_a_browser_marks_the_thresholds_of_labels(tmp_path):
    body = dumped(tmp_path, training_page(facts(cuts=np.array([0.2, 0.4, 0.6, 0.6], np.float32))))
    assert body.count('class="rug"') == 3
    assert "from 0.200 to 0.600; the median is 0.600" in body


@pytest.mark.slow
@needs_browser
def test_a_browser_folds_thousands_of_labels(tmp_path):
    body = dumped(tmp_path, training_page(facts(thousands(4_000))))
    assert body.count('class="node-line"') == 20
    assert "100 of 4,000 labels shown" in body
    assert len(body) < 300_000


@pytest.mark.slow
@needs_browser
def test_in_a_browser_labels_are_sorted_and_found_and_branches_open(tmp_path):
    actions = """
    const every = selector => [...document.querySelectorAll(selector)];
    const click = text => every("#labels th button").find(one => one.textContent === text).click();
    const shown = () => every("#labels tbody tr").map(row => row.cells[0].firstChild.textContent);
    const enter = (id, value, event) => { find(id).value = value; find(id).dispatchEvent(new Event(event)); };
    const said = {};
    click("label"); said.rising = shown();
    click("label"); said.falling = shown();
    click("F1"); said.best = shown();
    enter("filter", "TREE", "input"); said.found = shown();
    enter("filter", "", "input"); enter("level", "2", "change"); said.level = shown();
    document.querySelector("#tree details").open = true;
    setTimeout(() => {
      said.tree = every("#tree .name").map(one => one.textContent);
      find("about").textContent = JSON.stringify(said);
    }, 100);
    """
    given = facts()
    page = training_page(given).replace("</body>", f"<script>{actions}</script></body>")
    said = json.loads(html.unescape(re.search(r'id="about">(.*?)</p>', dumped(tmp_path, page)).group(1)))
    assert said["rising"] == [EVIL, "animal", "cat", "Oak tree"]
    assert said["falling"] == said["rising"][::-1]
    rows = [row for row in given.card.validation.label_rows if row.support]
    best = [row.label for row in sorted(rows, key=lambda row: -row.f1)]
    assert said["best"] == [*best, "Oak tree"]  # what has no support has no F1, and comes last
    assert said["found"] == ["Oak tree"]
    assert sorted(said["level"]) == [EVIL, "cat"]
    assert said["tree"] == ["animal", EVIL, "cat", "group"]
