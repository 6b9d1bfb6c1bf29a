"""Pages on paper: plots beside their words, tables whole, nothing cut, light where screens are dark."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qe.cli import main
from qe.training.page import run_page
from tests.browser import Page, browser

pytestmark = pytest.mark.slow
PAPER = {"width": 718, "height": 1046, "deviceScaleFactor": 1, "mobile": False}  # A4 without its margins
# What stands where: of each plot its picture and its words, the right end of each table, and what may break.
_LAYOUT = """JSON.stringify((() => {
  const box = e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const each = (what, f) => [...document.querySelectorAll(what)].map(f);
  return {plots: each("figure", f => [f.closest(".pair") ?? f].map(w => [box(f.querySelector("img")),
            box(w === f ? f.querySelector("figcaption") : w.querySelector("table"))])[0]),
          tables: each("table", t => box(t)[2]),
          whole: each("table, figure, .segment", e => getComputedStyle(e).breakInside),
          with_what_follows: each("h2, h3, h4, h2 + p", e => getComputedStyle(e).breakAfter),
          paper: getComputedStyle(document.body).backgroundColor};
})())"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        page.on_paper(PAPER, dark=True)
        yield page


def compared(folder: Path) -> Path:
    """The page of two MT systems, with plots and tables of buckets."""
    words = [f"w{n % 7} w{n % 5} w{n % 3}" + " and so on" * (n % 4) for n in range(60)]
    texts = {
        "reference": words,
        "old": [w.replace("w1", "oops") for w in words],
        "new": [w.replace("w6", "oops") for w in words],
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    files = {name: str(folder / name) for name in texts}
    systems = ["--system", f"old={files['old']}", "--system", f"new={files['new']}"]
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--references", files["reference"], *systems, "--source", files["reference"],
              "--bucket", "length", "--samples", "200", "-o", str(folder / "out"), "--quiet"])  # fmt: skip
    assert ended.value.code == 0
    return folder / "out" / "comparison.html"


def trained(folder: Path, demo_run: Any) -> Path:
    path = folder / "report.html"
    path.write_text(run_page(demo_run.output), "utf-8")
    return path


@pytest.mark.parametrize("kind", ["comparison", "run"])
def test_a_printed_page(kind: str, tab: Page, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = (
        compared(tmp_path) if kind == "comparison" else trained(tmp_path, request.getfixturevalue("demo_run"))
    )
    tab.open(page.as_uri())
    tab.wait("Segments")
    layout = json.loads(tab.run(_LAYOUT))
    assert layout["plots"] and layout["tables"]
    for picture, words in layout["plots"]:
        assert words[0] >= picture[2] and words[1] < picture[3], "the words are not beside their plot"
    assert max(layout["tables"]) <= PAPER["width"], "a table is cut"
    assert {*layout["whole"], *layout["with_what_follows"]} == {"avoid"}
    assert layout["paper"] == "rgb(255, 255, 255)"
