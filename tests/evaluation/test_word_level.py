"""Word-level evaluation: scikit-learn's figures, brute force, and what files may hold."""

import json
import math
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import f1_score, matthews_corrcoef

from qe.evaluation.word_level import (
    METRICS,
    best_threshold,
    confusions,
    cross_thresholded,
    evaluate_words,
    f1_bad,
    mcc,
)
from qe.statistics.settings import CorrectionSettings
from tests.factories import Monkeypatch, ran

Bools = NDArray[np.bool_]


def simulated(segments: int, seed: int) -> tuple[Bools, NDArray[np.float64], NDArray[np.int64]]:
    """Gold tags, P(BAD) and offsets; some segments are empty."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 12, segments))])
    gold = rng.random(offsets[-1]) < 0.2
    return gold, np.round(np.clip(0.4 * gold + rng.random(offsets[-1]) * 0.6, 0, 1), 2), offsets


def test_scores_are_those_of_scikit_learn() -> None:
    for seed in range(20):
        gold, bad, offsets = simulated(40, seed)
        counts = confusions(gold, bad >= 0.5, offsets)
        assert counts.shape == (40, 4) and counts.sum() == len(gold)
        scores = {name: float(metric(counts.sum(axis=0))) for name, metric in METRICS.items()}
        assert scores["mcc"] == pytest.approx(matthews_corrcoef(gold, bad >= 0.5))
        of_bad, of_ok = f1_score(gold, bad >= 0.5), f1_score(~gold, bad < 0.5)
        assert scores["f1_bad"] == pytest.approx(of_bad) and scores["f1_ok"] == pytest.approx(of_ok)
        assert scores["f1_mult"] == pytest.approx(of_bad * of_ok)


def test_where_one_tag_is_missing() -> None:
    assert mcc(np.array([0.0, 0, 3, 7])) == 0 == matthews_corrcoef([1] * 3 + [0] * 7, [0] * 10)
    assert f1_bad(np.array([0.0, 0, 3, 7])) == 0
    assert np.isnan(f1_bad(np.array([0.0, 0, 0, 7]))) and np.isnan(mcc(np.zeros(4)))


@pytest.mark.slow
def test_the_threshold_is_the_best_of_all() -> None:
    for seed in range(10):
        gold, bad, _ = simulated(10, seed)
        best = best_threshold(gold, bad)
        every = [matthews_corrcoef(gold, bad >= value) for value in np.unique(bad)]
        assert matthews_corrcoef(gold, bad >= best) == pytest.approx(max(every))
    assert best_threshold(np.array([True, True]), np.array([0.3, 0.3])) == 0.3
    low = 0.5
    high = np.nextafter(low, 1)
    assert best_threshold(np.array([False, True]), np.array([low, high])) == high


def test_thresholds_inside_folds_do_not_see_the_fold() -> None:
    gold, bad, offsets = simulated(60, 3)
    tags = cross_thresholded(gold, bad, offsets, folds=5)
    first = offsets[1:].searchsorted(0, side="right")  # a segment with tags
    rows = slice(offsets[first], offsets[first + 1])
    changed = gold.copy()
    changed[rows] = ~changed[rows]
    np.testing.assert_array_equal(cross_thresholded(changed, bad, offsets, folds=5)[rows], tags[rows])
    assert matthews_corrcoef(gold, tags) > 0.3


def test_the_test_exchanges_whole_segments() -> None:
    """Five segments: all 2^5 exchanges by hand, counted exactly."""
    gold, bad, offsets = simulated(5, 11)
    sides = bad >= 0.4, bad >= 0.7
    report = evaluate_words(
        gold, {"a": sides[0], "b": sides[1]}, offsets, CorrectionSettings(samples=1000, correct="none")
    )
    observed = matthews_corrcoef(gold, sides[0]) - matthews_corrcoef(gold, sides[1])
    rows = np.repeat(np.arange(5), np.diff(offsets))
    extreme = []
    for coins in product([False, True], repeat=5):
        heads = np.array(coins)[rows]
        own, other = np.where(heads, sides[1], sides[0]), np.where(heads, sides[0], sides[1])
        extreme.append(
            abs(matthews_corrcoef(gold, own) - matthews_corrcoef(gold, other)) >= abs(observed) - 1e-12
        )
    outcome = next(one for one in report.comparisons if one.metric == "mcc").result
    assert outcome.exact and outcome.difference == pytest.approx(observed)
    assert math.isnan(outcome.p) or outcome.p == pytest.approx(np.mean(extreme))


def test_intervals_and_clusters_of_many_segments() -> None:
    gold, bad, offsets = simulated(400, 5)
    noise = np.random.default_rng(0).random(len(gold)) < 0.3
    systems = {"good": bad >= 0.5, "poor": (bad >= 0.5) ^ noise, "copy": bad >= 0.5}
    report = evaluate_words(gold, systems, offsets, CorrectionSettings(seed=1))
    assert report.clusters["mcc"] == [["good", "copy"], ["poor"]]
    low, high = report.ci["good"]["mcc"]
    drawn = np.random.default_rng(7).integers(0, 400, (2000, 400))
    counts = confusions(gold, bad >= 0.5, offsets)
    scores = [float(mcc(counts[rows].sum(axis=0))) for rows in drawn]
    np.testing.assert_allclose([low, high], np.quantile(scores, [0.025, 0.975]), atol=0.01)
    by_pair = {(one.system, one.baseline): one for one in report.comparisons if one.metric == "mcc"}
    assert by_pair["good", "copy"].result.p == 1 and by_pair["good", "poor"].p_corrected < 0.01
    assert json.dumps(report.to_json(), allow_nan=False)


def run(*arguments: str) -> str:
    return ran(*arguments).out


@pytest.fixture
def files(tmp_path: Path, monkeypatch: Monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.tags").write_text("OK BAD OK OK OK\nBAD OK OK\n")
    (tmp_path / "a.tags").write_text("OK BAD OK BAD OK\nOK OK OK\n")
    (tmp_path / "b.probs").write_text("0.1 0.9 0.2 0.1 0.3\n0.6 0.2 0.1\n")
    return tmp_path


def test_words_and_gaps_have_figures_of_their_own(files: Path) -> None:
    both = ["evaluate", "words", "-q", "--gold", "gold.tags", "--predictions", "a.tags", "b=b.probs"]
    report = json.loads(run(*both, "--json", "--threshold", "0.5", "--samples", "0"))
    assert report.pop("schema") == 1
    assert {part: (one["tags"], one["bad"]) for part, one in report.items()} == {
        "words": (3, 1), "gaps": (5, 1),
    }  # fmt: skip
    assert report["words"]["systems"]["b"]["mcc"] == 1 and report["gaps"]["systems"]["b"]["mcc"] == 1
    # words of a: BAD BAD | OK against BAD OK | OK: tp 1, fp 1, fn 0, tn 1
    assert report["words"]["systems"]["a"]["mcc"] == pytest.approx(0.5)
    assert report["words"]["systems"]["a"]["f1_mult"] == pytest.approx((2 / 3) ** 2)
    tuned = run(*both, "--json", "--samples", "0", "--tune", "b=b.probs", "--tune-gold", "gold.tags")
    assert json.loads(tuned)["gaps"]["systems"]["b"]["f1_mult"] == 1
    printed = " ".join(run(*both, "--threshold", "0.5").split())
    assert "samples of 2 whole segments" in printed and "note: 2 segments only" in printed
    (files / "w.tags").write_text("BAD OK\nOK\n")
    plain = ("--layout", "words", "--gold", "w.tags", "--predictions", "c=w.tags")
    assert "MCC" in run("evaluate", "words", "-q", *plain)


def scored(folder: Path, **changes: object) -> None:
    """model.jsonl, as `qe score --tokens` writes it: two segments, two words and one."""
    rows: list[dict[str, object]] = [
        {"id": "1", "tokens": ["a", "b"], "bad": [0.9, 0.1], "gaps": [0.1, 0.2, 0.3], "tags": ["BAD", "OK"],
         "gap_tags": ["OK", "OK", "OK"], "source_bad": [0.7, 0.2, 0.1], "source_tags": ["BAD", "OK", "OK"]},
        {"id": "2", "tokens": ["c"], "bad": [0.2], "gaps": [0.6, 0.1], "tags": ["OK"],
         "gap_tags": ["BAD", "OK"], "source_bad": [0.3], "source_tags": ["BAD"]},
    ]  # fmt: skip
    rows[1] |= changes
    (folder / "model.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "gold.src_tags").write_text("BAD OK OK\nOK\n")


EVALUATE = "evaluate words --gold gold.tags --source-gold gold.src_tags --samples 0 -q"


@pytest.mark.slow
def test_scored_rows_hold_words_gaps_and_source_words(files: Path) -> None:
    scored(files)
    given = [*EVALUATE.split(), "--json", "--predictions", "model.jsonl"]
    report = json.loads(run(*given, "--reliability", "r.png"))
    del report["schema"]
    assert {part: one["systems"]["model"]["mcc"] for part, one in report.items()} == pytest.approx(
        {"words": 1, "gaps": 1, "source": matthews_corrcoef([1, 0, 0, 0], [1, 0, 0, 1])}
    )
    # four source words of different probability, each a bin: the mean of |P(BAD) - tag|
    assert report["source"]["systems"]["model"]["ece"] == pytest.approx((0.3 + 0.2 + 0.1 + 0.3) / 4)
    assert (files / "r.png").read_bytes().startswith(b"\x89PNG")
    lower = json.loads(run(*given, "--threshold", "0.15"))["source"]["systems"]["model"]
    assert lower["mcc"] == pytest.approx(matthews_corrcoef([1, 0, 0, 0], [1, 1, 0, 1]))


def test_source_words_have_files_of_their_own(files: Path) -> None:
    scored(files)
    (files / "a.src_tags").write_text("BAD OK OK\nOK\n")
    command = [*EVALUATE.split(), "--predictions", "a=a.tags", "model=model.jsonl"]
    printed = " ".join(run(*command, "--source-predictions", "a=a.src_tags").split())
    assert "source: 2 segments, 4 tags, 1 BAD" in printed
    assert "a 1.000 1.000 1.000 1.000 -" in printed  # tags have no calibration
    assert "add --source-predictions a=FILE" in ran(*command, code=2).err


def test_thresholds_inside_folds_are_best_by_the_metric_asked_for(
    tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gold, bad, offsets = simulated(200, 4)
    rows = [slice(a, b) for a, b in pairwise(offsets)]
    for name, values in (("gold", np.where(gold, "BAD", "OK")), ("p.probs", bad.astype(str))):
        (tmp_path / name).write_text("".join(" ".join(values[row]) + "\n" for row in rows))
    command = "evaluate words --layout words --gold gold --predictions p.probs --samples 0 --folds 5"
    for metric in ("mcc", "f1_mult"):
        report = json.loads(run(*command.split(), "--thresholds-by", metric, "--json", "-q"))
        tags = cross_thresholded(gold, bad, offsets, folds=5, metric=metric)
        expected = METRICS[metric](confusions(gold, tags, offsets).sum(axis=0))
        assert report["words"]["systems"]["p"][metric] == pytest.approx(expected)
