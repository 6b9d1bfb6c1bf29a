"""Evaluation reports, the official scorer, submissions and `qe evaluate`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.data import LabelScale, read_scores, read_submission, write_submission
from qe.evaluation.evaluate import evaluate
from qe.evaluation.official_scorer import official_lines, official_scores
from qe.evaluation.tables import report_tables, winners
from qe.statistics import Pair
from qe.statistics.settings import SignificanceSettings
from tests.factories import Find, ran

EFFORT = LabelScale("effort", 1, 5, True)
HTER = LabelScale("hter", 0, 1, False)


@pytest.fixture(scope="module")
def systems() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(7)
    gold = np.round(rng.uniform(1, 5, 200), 1)
    noisy = {name: np.clip(gold + rng.normal(0, sd, 200), 1, 5) for name, sd in [("good", 0.5), ("bad", 1.5)]}
    return gold, {**noisy, "twin": noisy["good"].copy(), "mean": np.full(200, gold.mean())}


def test_official_scorer_to_every_printed_digit(shared_data: Find) -> None:
    folder = shared_data("golden/wmt12-scorer")
    compared = 0
    for block in (folder / "expected.txt").read_text().split("# ")[1:]:
        files, _, *printed = block.splitlines()
        gold, *hypotheses = (read_submission(folder / name) for name in files.split())
        ours = "".join(official_lines(h, official_scores(gold, h)) for h in hypotheses)
        assert ours.splitlines() == printed[: 2 * len(hypotheses)]
        compared += 2 * len(hypotheses)
    assert compared == 38


@pytest.mark.slow
def test_report_has_scores_intervals_and_pairs(systems: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
    gold, predictions = systems
    report = evaluate(gold, predictions, EFFORT, SignificanceSettings(samples=500))
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    good = content["systems"]["good"]
    assert good["n"] == 200 and len(good["delta_avg_by_n"]) == 99
    assert np.mean(list(good["delta_avg_by_n"].values())) == pytest.approx(good["delta_avg"])
    for metric, (low, high) in good["ci"].items():
        assert low < good[metric] < high
    assert good["interval"] == [predictions["good"].min(), predictions["good"].max()]
    assert content["systems"]["mean"]["spearman"] is None and content["systems"]["mean"]["delta_avg"] == 0
    assert len(content["comparisons"]) == 6 * 8
    twins = [c for c in report.comparisons if {c.system, c.baseline} == {"good", "twin"}]
    assert len(twins) == 8 and all(c.result.p == 1.0 and c.result.difference == 0.0 for c in twins)
    assert report.clusters["delta_avg"] == [["good", "twin"], ["bad"], ["mean"]]
    assert winners(report, "mae") == ["good", "twin"]


def test_the_win_ratio_is_the_share_of_test_sets_that_the_better_one_does_not_win() -> None:
    """Koehn 2004, section 4: here on bootstrap samples drawn by other means."""
    rng = np.random.default_rng(2)
    gold = rng.uniform(1, 5, 300)
    predictions = {"a": gold + rng.normal(0, 0.80, 300), "b": gold + rng.normal(0, 0.84, 300)}
    report = evaluate(
        gold, predictions, EFFORT, SignificanceSettings(test="win-ratio", samples=4000), metrics=("mae",)
    )
    result = report.comparison("a", "b", "mae").result
    errors = np.abs(predictions["a"] - gold) - np.abs(predictions["b"] - gold)
    means = errors[rng.integers(0, 300, (4000, 300))].mean(axis=1)
    lost = np.mean(means >= 0 if errors.mean() < 0 else means <= 0)
    assert result.p == pytest.approx(lost, abs=0.03) and 0.01 < lost < 0.5
    assert "Koehn 2004" in result.test


@pytest.mark.parametrize("test", ["bootstrap", "ar", "tukey", "scheffe"])
def test_comparisons_with_baselines(systems: tuple[np.ndarray, dict[str, np.ndarray]], test: str) -> None:
    gold, predictions = systems
    report = evaluate(
        gold, predictions, EFFORT, SignificanceSettings(samples=300, test=test), baselines=("mean",)
    )
    assert {(c.system, c.baseline) for c in report.comparisons} == {
        ("good", "mean"), ("bad", "mean"), ("twin", "mean"),
    }  # fmt: skip
    good = report.comparison("good", "mean", "delta_avg")
    assert good.result.p == pytest.approx(1 / 301)
    # The twin is a copy of the good system: one claim, counted once.
    assert good.p_corrected == pytest.approx((1 if test in ("tukey", "scheffe") else 2) / 301)
    assert report.comparison("twin", "mean", "delta_avg").p_corrected == good.p_corrected
    assert np.isnan(report.comparison("good", "mean", "spearman").result.p)


def test_label_direction_is_read_from_the_scale() -> None:
    rng = np.random.default_rng(0)
    gold = rng.random(80)
    predicted = np.clip(gold + rng.normal(0, 0.2, 80), 0, 1)
    upward = evaluate(
        1 - gold, {"s": 1 - predicted}, LabelScale("quality", 0, 1, True), SignificanceSettings(samples=0)
    )
    downward = evaluate(gold, {"s": predicted}, HTER, SignificanceSettings(samples=0))
    for metric, score in upward.systems["s"].metrics.items():
        assert downward.score("s", metric) == pytest.approx(score)
    assert downward.score("s", "delta_avg") > 0.1
    assert (
        evaluate(gold, {"s": -predicted}, HTER, SignificanceSettings(samples=0)).score("s", "delta_avg")
        < -0.1
    )


def test_same_seed_same_report_and_documents_widen_intervals() -> None:
    rng = np.random.default_rng(3)
    document = np.repeat(np.arange(20), 10)
    gold = rng.normal(size=200)
    predicted = gold + rng.normal(size=20)[document] + 0.1 * rng.normal(size=200)
    by_segment = evaluate(gold, {"s": predicted}, EFFORT, SignificanceSettings(samples=300))
    again = evaluate(gold, {"s": predicted}, EFFORT, SignificanceSettings(samples=300))
    assert by_segment.to_json() == again.to_json()
    by_document = evaluate(gold, {"s": predicted}, EFFORT, SignificanceSettings(samples=300), groups=document)
    low, high = by_segment.systems["s"].ci["mae"]
    wide_low, wide_high = by_document.systems["s"].ci["mae"]
    assert wide_high - wide_low > 1.5 * (high - low)


def test_few_segments_are_undefined_not_errors() -> None:
    report = evaluate(
        np.array([3.0]),
        {"a": np.array([3.0]), "b": np.array([2.0])},
        EFFORT,
        SignificanceSettings(samples=50),
    )
    scores = report.systems["a"].metrics
    assert scores["mae"] == 0 and np.isnan(scores["delta_avg"]) and np.isnan(scores["pearson"])
    json.dumps(report.to_json(), allow_nan=False)
    mae = report.comparison("a", "b", "mae")
    assert np.isnan(mae.result.p) and "1 segment" in mae.result.undecided and "mae" not in report.clusters


def graded(systems: int, segments: int, seed: int = 1) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Gold labels and systems whose errors grow by half from one to the next."""
    rng = np.random.default_rng(seed)
    gold = np.round(rng.uniform(1, 5, segments), 1)
    return gold, {f"s{i:02}": gold + rng.normal(0, 0.1 * 1.5**i, segments) for i in range(systems)}


@pytest.mark.slow
def test_twelve_clearly_different_systems_are_told_apart() -> None:
    """MAE from .08 to 6: with 1,000 samples Holm's correction let none of 66 pairs be significant."""
    gold, predictions = graded(12, 422)
    report = evaluate(gold, predictions, EFFORT, metrics=("mae",))
    assert report.recipe["samples"] == 26_400 == 20 * 66 / 0.05
    assert report.clusters["mae"] == [[name] for name in predictions]
    few = evaluate(gold, predictions, EFFORT, SignificanceSettings(samples=1000), metrics=("mae",))
    assert "mae" not in few.clusters and winners(few, "mae") == []
    assert any("1,000 samples" in note and "ask for 26,400" in note for note in few.notes)


@pytest.mark.parametrize("test", ["ar", "bootstrap", "tukey", "scheffe"])
def test_few_documents_cannot_decide(test: str) -> None:
    """The bootstrap over 3 documents rejected true nulls at .28; no exchange of 5 gives p below .0625."""
    gold, predictions = graded(2, 60)
    for documents, decided in [(3, False), (5, False), (12, True)]:
        report = evaluate(
            gold,
            predictions,
            EFFORT,
            SignificanceSettings(test=test, samples=4000),
            metrics=("mae", "delta_avg"),
            groups=np.arange(60) % documents,
        )
        mae = report.comparison("s00", "s01", "mae")
        assert (mae.result.undecided is None) == decided == (not np.isnan(mae.p_corrected))
        assert any(f"{documents} groups only" in note for note in report.notes)
        told = "".join(table.text(80) for table in report_tables(report))
        assert ("?: cannot be decided" in told) != decided
        if test == "ar" and decided:
            assert mae.result.exact and mae.result.samples == 2**12


def test_several_kinds_of_units_take_the_largest_p_and_the_widest_interval() -> None:
    rng = np.random.default_rng(5)
    document, judge = np.repeat(np.arange(25), 8), np.tile(np.arange(8), 25)
    gold = rng.normal(size=200)
    base = gold + rng.normal(size=200)
    better = gold + rng.normal(0, 0.9, 200) + 0.6 * rng.normal(size=8)[judge]
    predictions = {"better": better, "base": base}

    def outcome(groups: object) -> Pair:
        report = evaluate(gold, predictions, EFFORT, metrics=("mae", "kendall"), groups=groups)  # type: ignore[arg-type]
        return report.comparison("better", "base", "mae")

    both = outcome({"document": document, "judge": judge})
    by_document, by_judge = outcome({"document": document}), outcome({"judge": judge})
    assert both.result.p == max(by_document.result.p, by_judge.result.p)
    assert both.result.exchange == "document and judge" and both.result.min_p == 2 / 2**8
    widths = [c.ci[1] - c.ci[0] for c in (both, by_document, by_judge)]
    assert widths[0] > max(widths[1:]) * 0.99


@pytest.mark.slow
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_submission_round_trip(values: list[float]) -> None:
    import tempfile

    scores = np.array(values)
    with tempfile.TemporaryDirectory() as folder:
        write_submission(Path(folder) / "s.tsv", "SYS", scores)
        back = read_submission(Path(folder) / "s.tsv")
    assert back.method == "SYS" and back.ranks is not None and back.segments == len(scores)
    if not scores.any():
        assert back.scores is None  # 0 throughout: as the 2012 scorer reads it, no scores
        return
    np.testing.assert_array_equal(back.scores, scores)
    assert sorted(back.ranks) == list(range(1, len(scores) + 1))
    assert (np.diff(scores[np.argsort(back.ranks)]) <= 0).all()


def test_every_kind_of_score_file_gives_the_same_numbers(tmp_path: Path) -> None:
    import pandas as pd

    scores = np.array([3.5, 1.25, 4.0])
    table = pd.DataFrame({"id": ["a", "b", "c"], "score": scores, "other": 0.0})
    (tmp_path / "plain.txt").write_text("3.5\r\n1.25\r\n4.0")
    (tmp_path / "plain.tsv").write_text("3.5\n1.25\n4.0\n")
    table.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    table.to_csv(tmp_path / "t.csv.gz", index=False)
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    table.to_parquet(tmp_path / "t.parquet")
    write_submission(tmp_path / "sub.tsv", "SYS", scores)
    for path in tmp_path.iterdir():
        np.testing.assert_array_equal(read_scores(path).scores, scores, err_msg=path.name)
    assert read_scores(tmp_path / "sub.tsv").name == "SYS"
    np.testing.assert_array_equal(read_scores(tmp_path / "t.tsv", "other").scores, np.zeros(3))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    gold = np.round(rng.uniform(1, 5, 60), 1)
    for name, sd in [("gold", 0.0), ("svr", 0.5), ("poor", 2.0)]:
        values = gold + rng.normal(0, sd, 60) if sd else gold
        (tmp_path / f"{name}.txt").write_text("".join(f"{v:.4f}\n" for v in values))
    (tmp_path / "mean.txt").write_text("3.0\n" * 60)
    return tmp_path


def test_command_prints_json_and_writes_the_same(files: Path) -> None:
    given = ["--gold", files / "gold.txt", "--predictions", files / "svr.txt", f"base={files / 'mean.txt'}"]
    printed = ran("evaluate", *given, "--samples", 200, "--json", "--output", files / "report.json").out
    assert printed == (files / "report.json").read_text()
    content = json.loads(printed)
    assert list(content["systems"]) == ["svr", "base"] and len(content["comparisons"]) == 8


def test_command_groups_around_the_baseline(files: Path) -> None:
    arguments = ["--gold", files / "gold.txt", "--baseline", "mean", "--samples", 300]
    for name in ("svr", "poor", "mean"):
        arguments += ["--predictions", files / f"{name}.txt"]
    printed = ran("evaluate", *arguments).out
    assert "• svr" in " ".join(printed.split()) and "holm" in printed
    assert ran("evaluate", *arguments, "--quiet").out == printed


def test_command_scores_as_the_official_scorer(shared_data: Find) -> None:
    folder = shared_data("golden/wmt12-scorer")
    gold, hypothesis = folder / "ref_round.tsv", folder / "hyp_round.tsv"
    printed = ran("evaluate", "--gold", gold, "--predictions", hypothesis, "--official").out
    assert printed in (folder / "expected.txt").read_text() and len(printed.splitlines()) == 2
    scores = json.loads(
        ran("evaluate", "--gold", gold, "--predictions", hypothesis, "--official", "--json").out
    )["systems"]["SYS_round"]
    assert scores["mae"] == pytest.approx(0.401666666667) and scores["interval"] == [2.895, 4.0]


# What evaluateWMTQP2012.pl 1.1 prints, its own field widths, for ranks alone and scores alone.
NO_SCORES = (
    "Scoring: (primary) MeanAvgErr =   --\t (secondary) RootMeanSqrErr =   --\t LargeErrPerc =    --\t"
)
NO_RANKS = "Ranking: (primary)  DeltaAvg  =   --\t (secondary)  Spearman-Corr =   --\n"


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    """A submission of ranks alone, one of scores alone, and the labels of both."""
    gold = [4.0, 2.5, 3.0, 1.0, 5.0, 3.5]
    rows = list(zip(gold, [3.5, 2.0, 3.5, 2.0, 4.0, 3.0], [2, 5, 4, 6, 1, 3], strict=True))
    lines = {
        "gold": [f"GOLD_x\t{i}\t{g}\t{r}" for i, (g, _, r) in enumerate(rows, 1)],
        "ranks": [f"T_ranks\t{i}\t0\t{r}" for i, (_, _, r) in enumerate(rows, 1)],
        "scores": [f"T_scores\t{i}\t{s}\t0" for i, (_, s, _) in enumerate(rows, 1)],
    }
    for name, content in lines.items():
        (tmp_path / f"{name}.tsv").write_text("".join(f"{line}\n" for line in content))
    return tmp_path


def test_official_prints_dashes_for_what_was_not_submitted(halves: Path) -> None:
    arguments = ["--gold", halves / "gold.tsv", "--predictions", halves / "ranks.tsv", halves / "scores.tsv"]
    ranking, no_scores, no_ranks, scoring = ran("evaluate", *arguments, "--official").out.splitlines(
        keepends=True
    )
    assert no_scores.split(":: ")[1] == f"{NO_SCORES} SmallErrPerc =    --\n"
    assert no_ranks.split(":: ")[1] == NO_RANKS
    assert "Spearman-Corr = 1.000000000000" in ranking and "MeanAvgErr = 0.666666666667" in scoring
    told = json.loads(ran("evaluate", *arguments, "--official", "--json").out)["systems"]
    assert told["T_ranks"]["mae"] is None and told["T_ranks"]["interval"] is None
    assert told["T_scores"]["delta_avg"] is None and told["T_ranks"]["delta_avg"] > 0


def test_plain_evaluation_says_what_ranks_alone_cannot_give(halves: Path) -> None:
    arguments = ["--gold", halves / "gold.tsv", "--predictions", halves / "ranks.tsv", halves / "scores.tsv"]
    told = json.loads(ran("evaluate", *arguments, "--json").out)
    ranks, scores = told["systems"]["T_ranks"], told["systems"]["T_scores"]
    assert ranks["spearman"] == 1 and ranks["mae"] is None and ranks["interval"] == [None, None]
    assert scores["mae"] == pytest.approx(2 / 3) and scores["delta_avg"] > 0
    assert any("'T_ranks' holds ranks without scores: " in n and "mae, pearson" in n for n in told["notes"])
    assert {c["metric"]: c["p"] for c in told["comparisons"]}["rmse"] is None
    assert "note: 'T_ranks' holds ranks" in " ".join(ran("evaluate", *arguments).out.split())


@pytest.mark.slow
def test_buckets_compare_systems_on_parts_of_the_segments(tmp_path: Path) -> None:
    """`a` is far worse than `b` on the longer half alone."""
    rng = np.random.default_rng(4)
    gold, noise = rng.uniform(1, 5, 120), rng.normal(0, 0.3, (2, 120))
    long = np.arange(120) % 2 == 1
    files = {"gold": gold, "a": gold + noise[0] * np.where(long, 6, 1), "b": gold + noise[1]}
    for name, column in files.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{value:.5f}\n" for value in column))
    (tmp_path / "source").write_text("".join(f"{'word ' * (9 if one else 2)}\n" for one in long))
    given = ["--gold", tmp_path / "gold.txt", "--predictions", tmp_path / "a.txt", tmp_path / "b.txt"]
    kinds = ["--bucket", f"length={tmp_path / 'source'}", "--bucket", "quality", "--bands", "2"]
    told = json.loads(ran("evaluate", *given, *kinds, "--json").out)["buckets"]
    assert told["family"]["comparisons"] == {"delta_avg": 4, "spearman": 4, "mae": 4}
    by_bucket = {
        (d["metric"], d["bucket"]): d["p_corrected"] for d in told["differences"] if d["kind"] == "length"
    }
    assert by_bucket["mae", "9"] < 0.01 and by_bucket["spearman", "9"] < 0.01 < 0.1 < by_bucket["mae", "2"]
    inside = np.abs(files["a"] - gold)[long].mean() - np.abs(files["b"] - gold)[long].mean()
    told_there = [d["difference"] for d in told["differences"] if (d["metric"], d["bucket"]) == ("mae", "9")]
    assert told_there == pytest.approx([inside], abs=1e-4)
    printed = ran("evaluate", *given, *kinds).out
    assert "By quality: predictions: mean of 2, standardised" in printed
    assert "does a : b depend on length?" in printed
    for options, message in (
        (["--samples", "0"], "buckets are compared by resampling"),
        (["--test", "tukey"], "buckets go with pairwise tests"),
        (["--official"], "leave out --baseline"),
        (["--bucket", "length"], "--bucket length has no text"),
    ):
        assert message in ran("evaluate", *given, *kinds, *options, code=2).err


def test_heavy_tails_are_warned_of_where_they_are() -> None:
    """RMSE and Pearson of log-normal labels: a few segments decide them."""
    rng = np.random.default_rng(2)
    heavy, mild = rng.lognormal(0, 1, 300), rng.uniform(1, 5, 300)
    for gold, warned in ((heavy, True), (mild, False)):
        report = evaluate(
            gold, {"a": gold + rng.normal(0, 0.3, 300)}, EFFORT, SignificanceSettings(samples=100)
        )
        told = [note for note in report.notes if "heavy tails" in note]
        assert bool(told) == warned
        assert not warned or ("the labels (excess kurtosis" in told[0] and "RMSE and Pearson" in told[0])


@pytest.mark.parametrize(("family", "comparisons"), [("metric", 3), ("table", 6), ("all", 6)])
def test_the_family_and_the_monte_carlo_error_are_told(family: Any, comparisons: int) -> None:
    gold, predictions = graded(3, 100)
    report = evaluate(
        gold, predictions, EFFORT, SignificanceSettings(family=family, samples=2000), metrics=("mae", "rmse")
    )
    assert max(report.recipe["family"]["comparisons"].values()) == comparisons
    largest = max(comparison.result.error for comparison in report.comparisons)
    p = max(comparison.result.p for comparison in report.comparisons)
    assert largest == pytest.approx(np.sqrt(p * (1 - p) / 2000), rel=0.01)
