"""MT systems in buckets, and the page that shows where two systems differ."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.data import by_length
from qe.statistics import ResamplingSettings, randomization_test
from qe.statistics.buckets import by_name
from qe.statistics.resampling import BOOTSTRAPS
from qe.systems import System, SystemsComparison, Texts
from qe.systems.comparison import compare, with_buckets
from qe.systems.comparison_files import marked, page
from qe.systems.text_metric import metric
from tests.factories import Capsys, Done, Monkeypatch, ran
from tests.pages import Page, is_readable_aloud, needs_nothing_else

N = 80


def texts(seed: int = 1) -> dict[str, list[str]]:
    """References of 4 or 12 words; `new` is better than `old` on the long ones."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(40)])
    reference = [list(rng.choice(words, 4 if i % 2 else 12)) for i in range(N)]

    def noisy(share: Any) -> list[str]:
        return [
            " ".join(w if rng.random() > share(len(line)) else "oops" for w in line) for line in reference
        ]

    return {
        "ref": [" ".join(line) for line in reference],
        "old": noisy(lambda length: 0.5),
        "new": noisy(lambda length: 0.5 if length == 4 else 0.1),
    }


def compared(lines: dict[str, list[str]], *runs: str, **options: Any) -> SystemsComparison:
    systems = [System(name, (Texts.from_lines(lines[name]),)) for name in runs or ("old", "new")]
    settings = ResamplingSettings(samples=options.pop("samples", 999), **options.pop("settings", {}))
    metrics = {name: metric(name) for name in ("bleu", "ter")}
    return compare(systems, [Texts.from_lines(lines["ref"])], metrics, settings=settings, **options)


@pytest.fixture(scope="module")
def parted() -> SystemsComparison:
    lines = texts()
    return with_buckets(compared(lines), [by_length(lines["ref"], "reference", 2)])


def test_a_bucket_is_tested_as_its_segments_alone(parted: SystemsComparison) -> None:
    """What the bucket tells is what `compare` tells of these segments."""
    assert parted.buckets is not None
    lines = texts()
    for one in parted.buckets.differences:
        rows = [i for i, line in enumerate(lines["ref"]) if len(line.split()) == int(one.bucket.label)]
        alone = compared({name: [column[i] for i in rows] for name, column in lines.items()})
        told = alone.against_baseline("new", one.metric)
        assert told is not None and one.bucket.segments == len(rows) == N // 2
        assert one.result.difference == pytest.approx(told.result.difference)
        assert one.result.p == told.result.p
        assert one.scores[0] == pytest.approx(alone.scores["new"][one.metric].instability.mean)


def test_the_planted_difference_is_found_where_it_is(parted: SystemsComparison) -> None:
    assert parted.buckets is not None
    p = {(one.metric, one.bucket.label): one.p_corrected for one in parted.buckets.differences}
    assert max(p["bleu", "12"], p["ter", "12"]) <= 0.01 and min(p["bleu", "4"], p["ter", "4"]) > 0.05
    assert parted.buckets.family["comparisons"] == {"bleu": 2, "ter": 2}
    assert all(one.p_corrected < 0.01 for one in parted.buckets.dependences)


@pytest.mark.parametrize("test", ["bootstrap", "win-ratio"])
def test_the_test_is_that_of_the_comparison(test: Any) -> None:
    lines = texts()
    kinds = [by_length(lines["ref"], "reference", 2)]
    outcome = with_buckets(compared(lines, settings={"test": test}), kinds).buckets
    assert outcome is not None and {one.result.test for one in outcome.differences} == {
        {"bootstrap": BOOTSTRAPS["centred"], "win-ratio": BOOTSTRAPS["win-ratio"]}[test]
    }


def test_whole_documents_are_exchanged_inside_buckets() -> None:
    lines = texts()
    documents = [str(i // 4) for i in range(N)]
    whole = compared(lines, groups={"document": documents})
    outcome = with_buckets(whole, [by_length(lines["ref"], "reference", 2)]).buckets
    assert outcome is not None
    one = next(d for d in outcome.differences if (d.metric, d.bucket.label) == ("ter", "12"))
    rows = [i for i, line in enumerate(lines["ref"]) if len(line.split()) == 12]
    at = whole.scored.measures["ter"].columns
    a, b = (whole.scored.statistics[name][0][rows][:, at] for name in ("new", "old"))
    alone = randomization_test(
        a, b, whole.scored.measures["ter"].aggregate, samples=999, seed=1, groups=[documents[i] for i in rows]
    )
    assert one.result.p == alone.p and one.result.exchange == "document"


def test_a_document_that_is_its_own_unit_cannot_be_decided() -> None:
    lines = texts()
    documents = [f"d{i // 20}" for i in range(N)]
    whole = compared(lines, groups={"document": documents})
    outcome = with_buckets(whole, [by_name("document", "ids", documents)]).buckets
    assert outcome is not None and all(one.result.undecided for one in outcome.differences)
    assert all(np.isnan(one.p) for one in outcome.dependences)


def test_marked_words_are_those_that_the_other_lacks() -> None:
    assert marked(["a", "b", "c"], ["a", "x", "c"]) == [("a", False), ("b", True), ("c", False)]
    assert marked([], ["a"]) == [] and marked(["a"], []) == [("a", True)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in texts().items():
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    Path("docs").write_text("".join(f"d{i // 40}\n" for i in range(N)))
    Path("src").write_text("".join(f"source {i}\n" for i in range(N)))
    Path("q").write_text("".join(f"{i}\n" for i in range(N)))
    return tmp_path


def run(*more: object, code: int = 0) -> Done:
    given = ("--references", "ref", "--system", "old=old", "--system", "new=new", "--metrics", "ter")
    return ran("compare", *given, "--samples", "299", "--quiet", *more, code=code)


@pytest.mark.slow
def test_the_command(folder: Path, capsys: Capsys) -> None:
    kinds = ["--bucket", "length", "--bucket", "document=docs", "--bucket", "quality=q,q", "--bands", "2"]
    told = json.loads(run(*kinds, "--json", "--output", "out").out)["buckets"]
    assert list(told["kinds"]) == ["length", "document", "quality"]
    assert told["kinds"]["document"]["segments"] == {"d0": 40, "d1": 40}
    assert told["family"]["comparisons"] == {"ter": 6}
    table = list(csv.DictReader(io.StringIO((folder / "out" / "buckets.csv").read_text())))
    assert [float(row["difference"]) for row in table] == [d["difference"] for d in told["differences"]]
    pictures = sorted(path.name for path in (folder / "out").glob("by-*.png"))
    assert pictures == ["by-1-length.png", "by-2-document.png", "by-3-quality.png"]
    out = run(*kinds).out
    assert "By length: words of the reference" in out and "does new : old depend on length? TER yes" in out
    assert "TER: 6: all buckets" in out.replace("\n", " ")


def test_the_page_escapes_text_and_can_be_read_aloud() -> None:
    lines = texts()
    lines["ref"][0], lines["old"][0] = "<b>ref</b> x y z", "<script>alert(1)</script> x"
    whole = with_buckets(
        compared(lines), [by_length(lines["ref"], "<i>text</i>", 2), by_name("part", "", ["x<y", "z"] * 40)]
    )
    source = Texts.from_lines([f"quelle {i}" for i in range(N)])
    text = page(whole, source, ("de", "en"), {"length": b"png"})
    read = Page(text)
    needs_nothing_else(read)
    is_readable_aloud(read)
    assert not {"i", "script"} & {tag for tag, _ in read.tags}
    assert "<script>alert(1)</script>" in read.words and "x<y" in read.words
    assert [a["alt"] for tag, a in read.tags if tag == "img"] == ["Differences by length with intervals"]
    assert {"de", "en"} <= {a.get("lang") for _, a in read.tags}
    assert any(tag == "mark" for tag, _ in read.tags)


def test_the_page_shows_the_segments_that_differ_most(parted: SystemsComparison) -> None:
    gains = parted.segment_scores("new", "ter")[0] - parted.segment_scores("old", "ter")[0]
    words = Page(page(parted)).words
    for number in np.argsort(gains, kind="stable")[:10] + 1:  # by TER, lower is better
        assert f"segment {number} · old" in words
    assert "Does the difference of new and old depend on length? Yes" in words
