"""A ranking report of made-up judgements: what it says, its JSON, tables, text and plots."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from features.basics.errors import InputError
from qe.display.files import folder_name
from qe_human import feedback_arcs as _feedback_arcs
from qe_human.judgements.certainty import resampled_tables
from qe_human.judgements.collection import JudgedPair, PairwiseCounts, comparisons
from qe_human.judgements.ranking_report import RankingReport, RankSettings, ranking_report
from qe_human.judgements.ranking_tables import (
    latex,
    markdown,
    rankings_json,
    report_json,
    text,
)
from qe_human.judgements.report_files import (
    plots,
    power_plot,
    rank_range_plot,
    write_reports,
)
from qe_human.ranking_method import RANKINGS
from tests.factories import refuses

SYSTEMS = ("_ref", "best", "good_one", "poor", "worst")
METHODS = ("expected_wins", "official", "feedback_arc_set", "most_probable", "trueskill")


def judged_pair(tasks: int = 400, seed: int = 0) -> JudgedPair:
    """Tasks of four of the systems, the first of which is best."""
    generator = np.random.default_rng(seed)
    shown = np.stack([generator.permutation(5)[:4] for _ in range(tasks)]).astype(np.int32)
    ranks = np.clip(np.round(shown + generator.normal(1, 1.2, shown.shape)), 1, 5).astype(np.int16)
    segment, judge = (generator.integers(0, n, tasks).astype(np.int32) for n in (90, 6))
    judged = comparisons(SYSTEMS, shown, ranks, segment, judge)
    return JudgedPair("Czech-English", judged.counts(), judged)


def made(settings: RankSettings | None = None, names: tuple[str, ...] = METHODS) -> RankingReport:
    return ranking_report(judged_pair(), {name: RANKINGS.get(name)() for name in names}, settings)


@pytest.fixture(scope="module")
def report() -> RankingReport:
    return made(RankSettings(samples=200))


@pytest.mark.slow
def test_the_reference_counts_where_a_method_says_so(report: RankingReport) -> None:
    assert report.counts.systems == SYSTEMS[1:]
    assert report.methods["official"].order[0] == "_ref"
    assert "_ref" not in report.methods["expected_wins"].order
    with_reference = made(RankSettings(samples=0, with_reference=True))
    assert with_reference.methods["expected_wins"].order == with_reference.methods["official"].order
    assert with_reference.methods["feedback_arc_set"].order[0] == "_ref"
    no_reference = made(RankSettings(samples=0, reference="nobody"))
    assert no_reference.counts.systems == SYSTEMS


def test_clear_systems_are_told_apart(report: RankingReport) -> None:
    result = report.methods["expected_wins"]
    assert result.order == SYSTEMS[1:] and result.clusters == tuple((name,) for name in SYSTEMS[1:])
    assert result.ranges == {name: (i, i) for i, name in enumerate(SYSTEMS[1:], start=1)}
    assert report.winners == ("best",) and not report.circles
    assert (report.corrected[np.triu_indices(4, 1)] < 0.01).all()
    assert report.methods["feedback_arc_set"].ranges is None  # exponential: only if asked for


def test_corrections_decide_where_they_are_asked_for() -> None:
    plain = made(RankSettings(samples=0, level=0.001))
    strict = made(RankSettings(samples=0, level=0.001, correct="bonferroni"))
    assert (plain.decisive == plain.p_values)[np.triu_indices(4, 1)].all()
    expected = np.minimum(1, 6 * plain.p_values[np.triu_indices(4, 1)])  # six pairs of four systems
    np.testing.assert_allclose(strict.decisive[np.triu_indices(4, 1)], expected)
    for wrong in ({"correct": "holms"}, {"draw": "words"}):
        refuses("unknown", RankSettings, **wrong)


def test_tests_leave_ranks_open_and_constrained_systems_win_among_themselves() -> None:
    report = made(RankSettings(samples=0, constrained=("good_one", "poor", "nobody")))
    assert report.tested == {name: (i, i) for i, name in enumerate(SYSTEMS[1:], start=1)}
    assert report.winners == ("best",) and report.constrained_winners == ("good_one",)
    assert report_json(report)["tested_ranks"]["poor"] == [3, 3]
    careful = made(RankSettings(samples=0, level=1e-300))
    assert set(careful.tested.values()) == {(1, 4)}


def test_segments_and_judges_are_drawn_whole() -> None:
    """One judge: every sample of judges is the sample itself, and ranges have no width."""
    judged = judged_pair(60)
    tasks = judged.comparisons
    assert tasks is not None
    alone = replace(tasks, judge=np.zeros_like(tasks.judge))
    drawn = next(iter(resampled_tables(alone, 5, draw="judges")))
    for wins in drawn[0]:
        np.testing.assert_array_equal(wins, tasks.counts().wins)
    methods = {"expected_wins": RANKINGS.get("expected_wins")()}
    one = replace(judged, comparisons=alone)
    told = ranking_report(one, methods, RankSettings(samples=20, draw="judges"))
    assert told.methods["expected_wins"].ranges is None
    by_segment = np.concatenate([wins for wins, _ in resampled_tables(tasks, 300, draw="segments")])
    by_task = np.concatenate([wins for wins, _ in resampled_tables(tasks, 300)])
    mean = tasks.counts().wins
    np.testing.assert_allclose(by_segment.mean(axis=0), mean, atol=1.0)
    np.testing.assert_allclose(by_task.mean(axis=0), mean, atol=1.0)
    assert by_segment.std(axis=0).mean() > by_task.std(axis=0).mean()


def test_counts_alone_have_no_ranges_but_all_else() -> None:
    pair = judged_pair()
    report = ranking_report(
        JudgedPair("x", pair.counts, None, ("only counts",)), {"bojar": RANKINGS.get("bojar")()}
    )
    assert report.methods["bojar"].ranges is None and report.power is None and report.agreement is None
    assert report.methods["bojar"].order == SYSTEMS[1:] and report.winners == ("best",)
    assert set(plots(report)) == {"heat_map", "methods"}
    assert report_json(report)["power"] is None
    refuses("no report has tasks", power_plot, [report], error=ValueError)
    refuses("bojar has no rank ranges", rank_range_plot, report, "bojar", error=ValueError)


def test_too_few_systems_are_refused() -> None:
    counts = PairwiseCounts(("_ref", "a"), np.array([[0, 3], [1, 0]]), np.zeros((2, 2), np.int64))
    with pytest.raises(InputError, match="no two systems of x are compared.*--with-reference"):
        ranking_report(JudgedPair("x", counts, None), {"bojar": RANKINGS.get("bojar")()})


def test_a_method_that_cannot_rank_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_feedback_arcs, "LARGEST", 2)
    wins = np.array([[0, 5, 1], [1, 0, 5], [5, 1, 0]])
    pair = JudgedPair("x", PairwiseCounts(("a", "b", "c"), wins, np.zeros((3, 3), np.int64)), None)
    methods = {name: RANKINGS.get(name)() for name in ("bojar", "feedback_arc_set")}
    refuses("x, feedback_arc_set: the preferences of 3 systems run in circles", ranking_report, pair, methods)
    report = ranking_report(pair, methods, optional=True)
    assert list(report.methods) == ["bojar"] and not report.methods["bojar"].unique
    assert any("feedback_arc_set is left out" in note for note in report.notes)


def test_a_system_with_ties_alone_is_undefined_and_told_of() -> None:
    wins, ties = np.zeros((3, 3), np.int64), np.zeros((3, 3), np.int64)
    wins[0, 1], ties[0, 2], ties[2, 0] = 4, 3, 3
    pair = JudgedPair("x", PairwiseCounts(("a", "b", "c"), wins, ties), None)
    report = ranking_report(pair, {"bojar": RANKINGS.get("bojar")()})
    assert "bojar is undefined for c" in report.notes
    assert rankings_json(report)["bojar"]["ranking"] == [["a", 1.0], ["b", 0.0], ["c", None]]
    assert "nan" not in (markdown(report) + latex(report) + text(report)).lower()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"samples": -1}, "samples must be at least 0"),
        ({"confidence": 1.0}, "0 < confidence < 1"),
        ({"level": 0.0}, "0 < level < 1"),
    ],
)
def test_bad_settings(settings: dict[str, float], message: str) -> None:
    refuses(message, RankSettings, **settings)


@pytest.mark.slow
def test_files(report: RankingReport, tmp_path: Path) -> None:
    write_reports([report, report], tmp_path)
    own = ["heat_map.png", "methods.png", "rank_ranges.png", "report.json", "report.md", "report.tex"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "Czech-English", "Czech-English-2", "power.png", "rankings.json",
    ]  # fmt: skip
    for folder in ("Czech-English", "Czech-English-2"):
        assert sorted(p.name for p in (tmp_path / folder).iterdir()) == own
    assert json.loads((tmp_path / "rankings.json").read_text())["Czech-English"] == json.loads(
        json.dumps(rankings_json(report))
    )
    assert [folder_name(name) for name in ("../a", "...", "Haitian Creole (Raw)-English")] == [
        "a", "pair", "Haitian-Creole-Raw-English",
    ]  # fmt: skip
