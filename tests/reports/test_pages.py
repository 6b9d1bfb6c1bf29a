"""Pages of runs and of scored files: whole, self-contained, escaped, readable by machines that read aloud."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from qe.cli._score_job import write_drift
from qe.evaluation.plots import words_of
from qe.models.training_rows import HeldOutPredictions
from qe.production import Thresholds
from qe.reports.scored import scored_page
from qe.scoring import Options
from qe.training.page import run_page
from tests.factories import costs_file, exit_code, qe, refuses, score_file
from tests.patience import PATIENCE

EVIL = '<script>alert("x")</script> & <img src=x onerror=y>'
_VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """What a page is made of; raises if its tags are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, Mapping[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.text += " " if tag in ("td", "th", "caption", "p") else ""

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data

    def all(self, tag: str) -> list[Mapping[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def run_html(demo_run: Any) -> str:
    return run_page(demo_run.output)


@pytest.fixture(scope="module")
def scored(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, Path]]:
    """A scored file with everything, its drift report, and the cost table."""
    folder = tmp_path_factory.mktemp("scored")
    costs_file(folder)
    lines = (demo_model.parent / "data" / "new.tsv").read_text().splitlines()
    (folder / "in.tsv").write_text("\n".join([*lines[:200], f"evil\t{EVIL}\t{EVIL}", "none\ta\t"]) + "\n")
    scale = Thresholds.from_file(folder / "costs.yaml", demo_model, _scale(demo_model))
    options = Options(interval=0.9, explain=2, triage=scale, flags=True)
    output = folder / "out.jsonl"
    summary = score_file(demo_model, [folder / "in.tsv"], output, options=options, keep=True, workers=1)
    write_drift(folder / "drift.json", summary.drift)
    yield output, folder / "drift.json", folder / "costs.yaml"


def _scale(model: Path) -> Any:
    from qe.models import description

    return description.read(model).scale


@pytest.fixture(scope="module")
def scored_html(scored: tuple[Path, Path, Path], demo_model: Path) -> str:
    output, drift, costs = scored
    return scored_page(output, demo_model, drift=drift, costs=costs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run_html", "scored_html"])
def test_a_page_needs_nothing_else_and_can_be_read_aloud(name: str, request: pytest.FixtureRequest) -> None:
    html = request.getfixturevalue(name)
    page = Page(html)
    assert page.all("html")[0]["lang"] == "en" and page.all("title")
    assert all(str(image["src"]).startswith("data:image/png;base64,") for image in page.all("img"))
    assert all(len(image["alt"] or "") > 20 for image in page.all("img")) and page.all("img")
    assert not page.all("script") and not page.all("link")
    assert all(str(link["href"]).startswith("#") for link in page.all("a"))
    assert len(page.all("caption")) == len(page.all("table")) > 0
    ids = {attributes.get("id") for _, attributes in page.tags}
    assert {str(link["href"])[1:] for link in page.all("a")} <= ids
    assert {attributes.get("lang") for attributes in page.all("span")} >= {"en", "es"}
    assert "default-src 'none'" in html and "@media print" in html
    levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3")]
    assert levels[0] == 1 and all(b - a <= 1 for a, b in pairwise(levels))


@pytest.mark.capability
def test_the_run_page_has_the_figures_of_the_report(run_html: str, demo_run: Any) -> None:
    report = json.loads((demo_run.output / "report.json").read_text())
    text = " ".join(Page(run_html).text.split())
    for section in ("test", "cross_validation"):
        values = report[section]["systems"]["demo"]
        for metric in ("mae", "delta_avg", "pearson"):
            low, high = values["ci"][metric]
            assert f"{values[metric]:.3f} [{low:.3f}, {high:.3f}]" in text
    assert report["recipe"]["dataset"] in text and report["experiment"]["description"] in text


def test_the_run_page_shows_the_largest_and_smallest_errors(run_html: str, demo_run: Any) -> None:
    table = pd.read_parquet(demo_run.output / "predictions.parquet").query("split == 'test'")
    errors = (table["predicted"] - table["gold"]).abs()
    text = " ".join(Page(run_html).text.split())
    row = errors.idxmax()
    start = text.index("Largest errors")
    gold, predicted = table["gold"][row], table["predicted"][row]
    shown = f"segment {table['id'][row]} · gold {gold:.2f} · predicted {predicted:.2f}"
    assert text.index(shown) == start + len("Largest errors ")
    assert text.count("because") == 10
    number = int(str(table["id"][row]).removeprefix("test-")) - 1
    source = (demo_run.output / "data" / "test.source").read_text().splitlines()[number]
    assert source in text[start:]


def test_a_run_whose_data_are_gone_has_a_page_without_texts(demo_run: Any, tmp_path: Path) -> None:
    for name in ("report.json", "predictions.parquet"):
        shutil.copy(demo_run.output / name, tmp_path / name)
    report = json.loads((tmp_path / "report.json").read_text())
    report["experiment"]["dataset"]["path"] = str(tmp_path / "gone")
    (tmp_path / "report.json").write_text(json.dumps(report))
    text = Page(run_page(tmp_path)).text
    assert "The texts cannot be shown" in text and "gone" in text and "Largest errors" not in text
    report["experiment"]["dataset"]["path"] = str(demo_run.output / "data")
    report["recipe"]["dataset"] = "another"
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert "the data have changed since" in Page(run_page(tmp_path)).text


def test_the_scored_page(scored_html: str, scored: tuple[Path, Path, Path], demo_model: Path) -> None:
    rows = [json.loads(line) for line in scored[0].read_text().splitlines()]
    good = [row for row in rows if row["score"] is not None]
    text = " ".join(Page(scored_html).text.split())
    assert f"{len(good)} of {len(rows)} rows scored" in text and "empty target 1" in text
    medians = [
        np.median([row["score"] for row in good]),
        np.median(HeldOutPredictions.load(demo_model).predicted),
    ]
    assert all(f" {median:.3f} " in text for median in medians)
    worst = min(good, key=lambda row: row["score"])
    assert text.index(f"segment {worst['id']}") == text.index("worst scores.") + len("worst scores. ")
    for action in ("publish", "post-edit", "retranslate"):
        assert f"{action} {sum(row['action'] == action for row in good):,}" in text
    assert worst["because"] in text and worst["action"] in text
    assert "<script>" not in scored_html and "onerror=y>" not in scored_html


def test_the_scored_page_has_costs_as_many_segments_as_wanted_and_text_of_any_direction(
    scored: tuple[Path, Path, Path], demo_model: Path, tmp_path: Path
) -> None:
    output, drift, costs = scored
    page = tmp_path / "page.html"
    options = ("--model", str(demo_model), "--drift", str(drift), "--triage", str(costs), "--worst", "3")
    assert exit_code("report", output, *options, "-o", page, "--quiet") == 0
    read = Page(page.read_text("utf-8"))
    assert len(read.all("article")) == 3
    assert "Costs of a segment: good 4, publish_good 0, publish_bad 10, post_edit 1" in read.text
    texts = [attributes for attributes in read.all("span") if "lang" in attributes]
    assert len(texts) >= 6 and all(attributes.get("dir") == "auto" for attributes in texts)
    assert qe("report", demo_model.parent, "--worst", "3").code == 2


def score_of(model: Path, source: str, target: str) -> float:
    from qe.api.models import load_model

    table = pd.DataFrame({"source": [source], "target": [target]})
    return float(load_model(model).predict(table)["score"].iloc[0])


def test_the_scores_of_another_model_are_refused(
    scored: tuple[Path, Path, Path], demo_model: Path, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in scored[0].read_text().splitlines()]
    rows[3]["score"] += 0.01
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    message = (
        f"row {rows[3]['id']} has the score .*, but the model 'demo' gives .*; name the model that scored"
    )
    refuses(message, scored_page, tmp_path / "x.jsonl", demo_model)


def test_text_of_the_data_is_escaped(demo_model: Path, tmp_path: Path) -> None:
    texts = {"id": EVIL, "source": EVIL, "target": EVIL, "flags": EVIL, "because": EVIL}
    rows = [{**texts, "score": score_of(demo_model, EVIL, EVIL), "reason": ""}]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = Page(scored_page(path, demo_model))
    assert page.text.count(EVIL) == 5 and not page.all("script")


def test_words_are_coloured_by_how_probable_an_error_is(demo_model: Path, tmp_path: Path) -> None:
    row = {
        "source": "a b",
        "target": "c d",
        "score": score_of(demo_model, "a b", "c d"),
        "reason": "",
        "tokens": ["c", "<d>"],
        "bad": [0.1, 0.8],
    }
    (tmp_path / "x.jsonl").write_text(json.dumps(row) + "\n")
    html = scored_page(tmp_path / "x.jsonl", demo_model)
    assert '<span class="w" title="P(BAD) 0.10">c</span> <span class="w bad3" title="P(BAD) 0.80">' in html
    assert "&lt;d&gt;</span>" in html
    assert words_of({"tokens": "c d", "bad": "0.1 0.8"}) == [("c", 0.1), ("d", 0.8)]
    assert words_of({"tokens": "c d", "bad": "0.1"}) == []


@pytest.mark.slow
def test_a_browser_draws_the_page(run_html: str, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed")
    (tmp_path / "page.html").write_text(run_html, "utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--screenshot={tmp_path / 'page.png'}", "--window-size=1000,1600"]
    subprocess.run(
        [*command, f"file://{tmp_path / 'page.html'}"], check=True, capture_output=True, timeout=PATIENCE
    )
    drawn = matplotlib.image.imread(tmp_path / "page.png")
    assert drawn.shape[:2] == (1600, 1000)
    halves = (drawn[:800], drawn[800:])  # figures above, plots below: neither is blank
    assert all(len(np.unique(half.reshape(-1, drawn.shape[2]), axis=0)) > 20 for half in halves)
