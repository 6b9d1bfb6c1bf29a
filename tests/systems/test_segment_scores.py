"""Score files beside text metrics in one table, and the verdict of a comparison."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.statistics.resampling import randomization_tests
from qe.statistics.result import Measure
from qe.systems.comparison_files import page
from qe.systems.report import verdict
from qe.systems.results import SystemsComparison
from tests.factories import Capsys, Monkeypatch, exit_code
from tests.systems.test_buckets import compared, texts

N = 40


@pytest.fixture
def files(tmp_path: Path, monkeypatch: Monkeypatch) -> dict[str, np.ndarray[Any, Any]]:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    words = np.array(["a", "b", "c", "d"])
    for name in ("ref", "x.txt", "y.txt"):
        lines = (" ".join(rng.choice(words, 6)) for _ in range(N))
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    scores = {"x": rng.normal(0.7, 0.1, N), "y": rng.normal(0.75, 0.1, N)}
    for name, column in scores.items():
        (tmp_path / f"{name}.comet").write_text("".join(f"{float(v)!r}\n" for v in column))
    return scores


def run(capsys: Capsys, *more: str, references: bool = True) -> tuple[str, str]:
    given = ["--references", "ref"] if references else []
    exit_code("compare", *given, "--system", "x=x.txt", "--system", "y=y.txt", "--quiet", *more)
    told = capsys.readouterr()
    return told.out, told.err


BOTH = ("--scores", "comet:x=x.comet", "--scores", "comet:y=y.comet")


def test_scores_of_files_are_tested_as_metrics_are(
    files: dict[str, np.ndarray[Any, Any]], capsys: Capsys
) -> None:
    told = json.loads(run(capsys, "--metrics", "bleu", *BOTH, "--json")[0])
    assert list(told["systems"]["x"]) == ["bleu", "comet"]
    for name in ("x", "y"):
        assert told["systems"][name]["comet"]["mean"] == pytest.approx(files[name].mean())
    (row,) = (row for row in told["comparisons"] if row["metric"] == "comet")
    columns = {name: np.stack([files[name], np.ones(N)], axis=1)[None] for name in files}
    measure = Measure(slice(0, 2), lambda sums: sums[..., 0] / sums[..., 1])
    expected = randomization_tests(
        columns["y"], columns["x"], {"comet": measure}, exchange="segment", samples=10_000, seed=1
    )["comet"]
    assert row["p"] == pytest.approx(expected.p, abs=0.01)
    assert row["difference"] == pytest.approx(files["y"].mean() - files["x"].mean())
    assert row["signature"].startswith("scores:file|mean:segments|version:mtqe-")
    bleu = told["systems"]["x"]["bleu"]["signature"]
    assert bleu.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:mtqe-")
    assert told["recipe"]["score_files"] == {"x": {"comet": ["x.comet"]}, "y": {"comet": ["y.comet"]}}


def test_files_alone_need_no_references_and_errors_have_a_direction(
    files: dict[str, np.ndarray[Any, Any]], capsys: Capsys
) -> None:
    more = [*BOTH, "--samples", "999", "--json", "--margin", "comet=0.001"]
    higher = json.loads(run(capsys, *more, references=False)[0])
    lower = json.loads(run(capsys, *more, "--lower-is-better", "comet", references=False)[0])
    assert list(higher["systems"]["x"]) == ["comet"]
    p = [told["comparisons"][0]["equivalence"]["p_noninferior"] for told in (higher, lower)]
    assert p[0] < 0.1 < 0.5 < p[1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--scores", "comet:x=x.comet"), "'y' has 1 runs, but 0 score files of comet"),
        (("--scores", "comet:z=x.comet"), "--scores names no system: z"),
        (("--scores", "bleu:x=x.comet"), "--scores names a metric of --metrics: bleu"),
        (("--scores", "comet:x=x.comet", "--scores", "comet:y=y.txt"), "y.txt:1: expected 1 finite numbers"),
    ],
)
def test_mistakes_are_named(
    files: dict[str, np.ndarray[Any, Any]], capsys: Capsys, more: tuple[str, ...], message: str
) -> None:
    assert message in run(capsys, "--metrics", "bleu", "ter", *more)[1]


def of(*systems: str, **changes: Any) -> SystemsComparison:
    lines = texts()
    return compared({**lines, "same": lines["old"], **changes}, "old", *systems)


def test_better_worse_and_alike_are_told_by_metric_with_the_scores() -> None:
    whole = of("new", "same")
    means = {name: whole.scores[name]["ter"].instability.mean for name in ("new", "old")}
    told = verdict(whole)
    assert f"TER {means['new']:.2f} against {means['old']:.2f}, better (p " in told  # lower is better
    assert told.count("no difference is shown (p 1.000)") == 2 and told.startswith("new: BLEU ")
    assert "worse" in verdict(of("new", new=["zz"] * len(texts()["old"])))


@pytest.mark.parametrize("systems", [("new",), ()])
def test_the_page_has_it_before_any_table(systems: tuple[str, ...]) -> None:
    html = page(of(*systems))
    assert f'<p class="verdict">{verdict(of(*systems))}'.replace("< ", "&lt; ") in html.partition("<table")[0]
