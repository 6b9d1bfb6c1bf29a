"""The study: reproducible, resumable, honest about what it chose."""

import itertools
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

from features.basics.errors import InputError
from qe.config.experiment import SearchSection, StrategySection
from qe.data import LabelScale, make_folds
from qe.learning import ForwardSelection
from qe.models.pipeline import Candidate
from qe.training.objective import CandidateFailed, FoldData, Objective
from qe.training.plan import Space
from qe.training.plots import importances, pareto_front, slices
from qe.training.search import Finished, OnTrial, Search, SearchResult
from qe.training.study import Drawing, claim, ended, journal
from qe.training.summary import front_table
from tests.factories import refuses

LINEAR = [StrategySection(kind="svr_linear", space={"C": {"low": 0.1, "high": 10.0}, "epsilon": [0.1, 0.2]})]
SCALE = LabelScale("effort", 1, 5, True)


def folds(n: int = 120, k: int = 6, seed: int = 0) -> list[FoldData]:
    """Folds of a linear problem with an undefined value and a constant column."""
    generator = np.random.default_rng(seed)
    table = pd.DataFrame(generator.normal(size=(n, k)), columns=[f"f{i}" for i in range(k)])
    scores = np.clip(3 + table["f0"] - 0.5 * table["f1"] + generator.normal(0, 0.3, n), 1, 5).to_numpy()
    table.loc[3, "f2"] = np.nan
    table["constant"] = 1.0
    return [
        FoldData(table.iloc[a], scores[a], None, table.iloc[b], scores[b], b)
        for a, b in make_folds(n, 4, seed=1)
    ]


@pytest.mark.parametrize(("low", "high"), [(None, None), (1, None), (1, 5)])
def test_predictions_of_held_out_rows_keep_to_the_limits_of_the_model(
    low: float | None, high: float | None
) -> None:
    """A row far outside of the training rows: a linear learner extrapolates."""
    scale, candidate, fold = LabelScale("z", low, high, True), Candidate("ridge", {}, "none", {}), folds()[0]
    fold.test.iloc[:2, 0] = [1e3, -1e3]
    predicted = fold.predict(candidate, scale, seed=0)
    assert (predicted[0], predicted[1]) == (
        fold.scores.max() if high is None else high,
        fold.scores.min() if low is None else low,
    )


def ridge(space: dict[str, object] | None = None, **params: object) -> StrategySection:
    return StrategySection(kind="ridge", space=space, params=params)


def objective(learners: list[StrategySection], metrics: tuple[str, ...] = ("mae",)) -> Objective:
    return Objective(folds(), Space(learners, [StrategySection(kind="none")]), metrics, SCALE, seed=0)


def run(
    objective: Objective,
    section: SearchSection,
    trial_number: int | None = None,
    on_trial: OnTrial | None = None,
    **options: Any,
) -> SearchResult:
    return Search(objective, section, **options).result(trial_number, on_trial)


def section(**keys: object) -> SearchSection:
    return SearchSection.model_validate(keys)


def test_a_grid_tries_every_combination_once() -> None:
    result = run(objective([ridge({"alpha": [0.1, 1, 10, 1000]})]), section(sampler="grid"))
    history = result.history()
    assert sorted(history["ridge.alpha"]) == [0.1, 1, 10, 1000]
    assert result.best_trial.value == history["mae"].min()


def test_a_candidate_whose_objective_is_undefined_counts_as_failed() -> None:
    """Rank correlation with a constant: the search ends instead of drawing the same point again."""
    learners = [StrategySection(kind="mean", space={"strategy": ["mean", "median"]})]
    result = run(objective([*learners, ridge()], ("spearman",)), section(trials=8, failures=0.9))
    assert len(result.failures) + len(result.finished) == 8
    assert {entry["reason"] for entry in result.failures} == {"spearman is undefined for its predictions"}


def test_a_fold_whose_labels_leave_the_metric_undefined_is_left_out_of_the_mean() -> None:
    """All labels of the first fold are 3, as a document's may be: every trial failed for it."""
    constant = objective([ridge(space={})], ("spearman", "mae"))
    constant.folds[0].gold[:] = 3.0
    result = run(constant, section(trials=1))
    spearman, mae = (result.best_trial.user_attrs["fold_values"][name] for name in ("spearman", "mae"))
    assert np.isnan(spearman[0])
    assert result.best_trial.values == pytest.approx([np.mean(spearman[1:]), np.mean(mae)])


def test_nothing_to_search_is_one_trial() -> None:
    result = run(objective([ridge({}, alpha=2.0)]), section(trials=50))
    assert len(result.trials) == 1 and result.best.learner_params == {"alpha": 2.0}


@pytest.mark.slow
def test_trials_that_differ_in_the_learner_share_fitted_selectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four penalties, two sizes, four folds: eight fits of the selector, and the same values as without."""
    fits: list[int] = []
    fit = ForwardSelection.fit

    def counted(self: ForwardSelection, X: Any, y: Any) -> ForwardSelection:
        fits.append(self.max_features or 0)
        return fit(self, X, y)

    monkeypatch.setattr(ForwardSelection, "fit", counted)
    forward = StrategySection(kind="forward", space={"max_features": [1, 2]}, params={"folds": 3})
    penalties = ridge({"alpha": [0.1, 1, 10, 1000]})
    shared = Objective(folds(), Space([penalties], [forward]), ("mae",), SCALE, seed=0)
    result = run(shared, section(sampler="grid"))
    assert len(result.trials) == 8 and sorted(fits) == [1] * 4 + [2] * 4
    for trial in result.trials:
        candidate = Candidate(**trial.user_attrs["candidate"])
        alone = Objective(folds(), shared.space, ("mae",), SCALE, seed=0)
        errors = [
            np.abs(p - f.gold).mean() for p, f in zip(alone.predictions(candidate), folds(), strict=True)
        ]
        assert trial.value == pytest.approx(np.mean(errors), abs=1e-12)


def test_the_best_candidate_predicts_the_same_whatever_was_fitted_before_it() -> None:
    searched = objective([ridge({"alpha": [10.0**i for i in range(-3, 5)]})])
    best = run(searched, section(sampler="grid")).best
    anew = objective([ridge()]).predictions(best)
    assert all((a == b).all() for a, b in zip(searched.predictions(best), anew, strict=True))


def test_a_fold_with_other_columns_selects_anew() -> None:
    """A selector that was fitted on all columns, as in an ablation, knows nothing of fewer."""
    candidate = Candidate("ridge", {"alpha": 1.0}, "correlation", {"threshold": 0.9})
    for fold, untouched in zip(folds(), folds(), strict=True):
        fold.predict(candidate, SCALE, 0)
        fewer, anew = (
            replace(each, train=each.train[["f0", "f1"]], test=each.test[["f0", "f1"]])
            for each in (fold, untouched)
        )
        np.testing.assert_array_equal(fewer.predict(candidate, SCALE, 0), anew.predict(candidate, SCALE, 0))


@pytest.mark.slow
def test_several_objectives_give_a_front() -> None:
    result = run(objective([ridge()], ("delta_avg", "mae")), section(trials=8))
    front = result.front()
    for one in front:
        assert not any(other["delta_avg"] > one["delta_avg"] and other["mae"] < one["mae"] for other in front)
    shown = {str(one["trial"]) for one in front}
    assert str(result.best_number) in shown
    assert shown <= {text.get_text() for text in pareto_front(result).axes[0].texts}
    found = {"objective": ["delta_avg", "mae"], "front": front, "best_trial": result.best_number}
    assert {row[0] for row in front_table(found).rows} == shown


@pytest.mark.slow
@pytest.mark.capability
def test_learners_are_searched_together() -> None:
    result = run(objective([ridge(), StrategySection(kind="svr_rbf")]), section(trials=12))
    assert set(result.history()["learner"]) == {"ridge", "svr_rbf"}


@pytest.mark.slow
def test_groups_of_features_are_searched_with_the_learners_parameters() -> None:
    """The labels are made from f0 and f1: the group with both stays, whatever else does; a trial in which no
    column is left is passed over, not the end of the search."""
    groups = {"signal": ["f0", "f1"], "noise": ["f[2-9]", "constant"]}
    switches = {"use": {name: [True, False] for name in groups}}
    selector = StrategySection(kind="groups", params={"groups": groups}, space=switches)
    searched = Objective(folds(), Space([ridge({"alpha": [1.0, 10.0]})], [selector]), ("mae",), SCALE, seed=0)
    result = run(searched, section(sampler="grid"))
    assert result.best.selector_params["use"]["signal"] is True
    states = [trial.state for trial in result.trials]
    assert states.count(optuna.trial.TrialState.PRUNED) == 2  # nothing left, with either alpha
    assert len(states) == 8


class Killed(BaseException):
    pass


class Half:
    """A trial that gives one parameter, then dies."""

    def __init__(self, trial: optuna.Trial) -> None:
        self.trial, self.asked = trial, False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("suggest"):
            if self.asked:
                raise Killed
            self.asked = True
        return getattr(self.trial, name)


@dataclass(frozen=True)
class Fragile(Objective):
    """Dies at the start of every trial, then while it draws, then while it fits, before one trial ends."""

    ends: Iterator[str] = field(default_factory=lambda: itertools.cycle(["start", "draw", "fit", "end"]))

    def __call__(self, trial: optuna.Trial) -> float | tuple[float, ...]:
        end = next(self.ends)
        if end == "end":
            return super().__call__(trial)
        if end != "start":
            candidate = self.space.draw(Half(trial) if end == "draw" else trial)  # type: ignore[arg-type]
            with suppress(CandidateFailed):
                self.folds[0].predict(candidate, self.scale, self.seed)
        raise Killed


SEARCHES = {
    "tpe": section(trials=14),
    "random": section(trials=6, sampler="random"),
    "grid": section(sampler="grid"),
    "several objectives": section(trials=12, objective=["mae", "delta_avg"]),
    "warm start": section(trials=6),
    "failures": section(trials=8, failures=0.9),
    "pruner": section(trials=10, pruner="optuna.pruners.MedianPruner", pruner_params={"n_startup_trials": 2}),
}


def drawn(result: SearchResult) -> list[tuple[object, ...]]:
    """What came to its end, in order."""
    return [(t.state, t.params, t.values) for t in ended(result.study)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEARCHES)
def test_a_search_killed_anywhere_equals_the_uninterrupted_one(kind: str, tmp_path: Path) -> None:
    asked, warm = SEARCHES[kind], [{"ridge.alpha": 3.0}, {"ridge.alpha": 7.0}, {"ridge.alpha": 3.0}]
    grid = [ridge({"alpha": [0.1, 1.0, 10.0, 100.0]})]
    chosen = {"grid": grid, "warm start": [ridge()], "failures": [NEIGHBOURS]}
    learners = chosen.get(kind, [ridge(), *LINEAR])
    given = Space(learners, [StrategySection(kind="none")]), tuple(asked.objective), SCALE, 0
    more: dict[str, Any] = {"seed": 3, "warm_start": warm if kind == "warm start" else []}
    whole = run(Objective(folds(), *given), asked, **more)
    fragile, path = Fragile(folds(), *given), tmp_path / "study.journal"
    kills = 0
    while True:
        try:
            result = run(fragile, asked, storage=journal(path), **more)
            break
        except Killed:
            kills += 1
    assert kills == 3 * len(drawn(whole))
    assert drawn(result) == drawn(whole) and result.best == whole.best and result.reproducible
    assert not [t for t in result.trials if t.state.name in ("RUNNING", "WAITING")]
    assert len(ended(result.study)) == len(drawn(whole)) < len(result.trials)


SAMPLER = """
import optuna

class Noting(optuna.samplers.RandomSampler):
    ended = []
    def after_trial(self, study, trial, state, values):
        self.ended.append(trial.number)
"""


def test_an_own_sampler_is_an_entry_point_that_gets_our_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "acme_samplers-1.0.dist-info"
    info.mkdir()
    (tmp_path / "acme_samplers.py").write_text(SAMPLER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-samplers\nVersion: 1.0\n")
    lines = ["[mtqe.sampler]", "noting = acme_samplers:Noting"]
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    path, own = tmp_path / "study.journal", "acme-samplers:noting"
    run(objective([ridge()]), section(trials=2, sampler=own), storage=journal(path))
    resumed = run(objective([ridge()]), section(trials=4, sampler=own), storage=journal(path))
    whole = run(objective([ridge()]), section(trials=4, sampler="random"))
    assert drawn(resumed) == drawn(whole) and resumed.reproducible
    assert sys.modules["acme_samplers"].Noting.ended == [0, 1, 2, 3]
    by_path = run(objective([ridge()]), section(trials=4, sampler="acme_samplers.Noting"))
    assert drawn(by_path) == drawn(whole)


def test_parameters_go_to_the_constructor_but_for_the_seed() -> None:
    several = {"sampler": "tpe", "sampler_params": {"n_startup_trials": 2, "multivariate": True}}
    assert run(objective([ridge()]), section(trials=3, **several)).reproducible


class Worse(optuna.pruners.BasePruner):
    """Ends a trial whose mean over `folds` folds is worse than `bound`."""

    def __init__(self, folds: int = 2, bound: float = 0.5) -> None:
        self.folds, self.bound = folds, bound

    def prune(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> bool:
        return trial.last_step == self.folds and trial.intermediate_values[self.folds] > self.bound


PENALTIES = {"alpha": [0.1, 1.0, 10.0, 100.0, 10_000.0]}
PRUNER = {"pruner": f"{__name__}.Worse", "pruner_params": {"folds": 3}}


def test_a_pruner_sees_the_mean_over_the_folds_so_far() -> None:
    """The candidates that it keeps have the values that they have without it, to the last bit."""
    whole = run(objective([ridge(PENALTIES)]), section(sampler="grid"))
    result = run(objective([ridge(PENALTIES)]), section(sampler="grid", **PRUNER))
    pairs = list(zip(whole.trials, result.trials, strict=True))
    bad = [(trial, other) for trial, other in pairs if other.state == optuna.trial.TrialState.PRUNED]
    assert len(bad) == result.ended_early(by_pruner=True) == 2
    assert result.ended_early(by_pruner=False) == 0
    for trial, other in pairs:
        values = trial.user_attrs["fold_values"]["mae"]
        seen = [np.mean(values[:n]) for n in range(1, 4 if (trial, other) in bad else 5)]
        assert list(other.intermediate_values.values()) == pytest.approx(seen, abs=0)
        assert (trial, other) in bad or trial.values == other.values
        assert not trial.intermediate_values
    assert result.best == whole.best and len(result.finished) == 3 and result.reproducible


def test_a_pruned_trial_is_never_the_best_one() -> None:
    """Optuna gives it the value of its last fold; a budget of trials without gain does not count it."""
    asked = section(trials=12, without_gain=4, pruner=f"{__name__}.Worse", pruner_params={"bound": 0.0})
    refuses("no trial .* could be finished", run, objective([ridge()]), asked)
    result = run(objective([ridge(PENALTIES)]), section(sampler="grid", without_gain=4, **PRUNER))
    assert result.best_trial.state == optuna.trial.TrialState.COMPLETE


def test_a_study_that_goes_on_with_another_pruner_is_not_reproducible(tmp_path: Path) -> None:
    storage = journal(tmp_path / "study.journal")
    run(objective([ridge()]), section(trials=2, **PRUNER), storage=storage)
    assert run(objective([ridge()]), section(trials=4, **PRUNER), storage=storage).reproducible
    assert not run(objective([ridge()]), section(trials=5), storage=storage).reproducible


DATA = {"data": "120 rows of linear (1f)", "metric": "mae"}
OTHER = {"data": "80 rows of others (2e)", "metric": "mae"}


@pytest.mark.slow
def test_a_study_of_another_experiment_is_refused_and_both_are_named(tmp_path: Path) -> None:
    """The same name, the same storage, other data: nothing is taken over, and the study stays as it is."""
    path = tmp_path / "shared.journal"
    given: dict[str, Any] = {"name": "twice", "shared": True, "location": path}
    asked = section(trials=3)
    first = drawn(run(objective([ridge()]), asked, storage=journal(path), identity=DATA, **given))
    with pytest.raises(InputError, match=r"'twice' belongs to another experiment") as caught:
        run(objective([ridge()]), asked, storage=journal(path), identity=OTHER, **given)
    message = str(caught.value)
    assert all(text in message for text in (str(path), DATA["data"], OTHER["data"], "`name`"))
    assert "metric" not in message
    again = run(objective([ridge()]), section(trials=4), storage=journal(path), identity=DATA, **given)
    assert drawn(again)[:3] == first and len(drawn(again)) == 4


@pytest.mark.slow
def test_of_experiments_that_claim_a_study_at_once_one_at_most_gets_it(tmp_path: Path) -> None:
    """Both have found the study free before either claims it."""
    path = tmp_path / "shared.journal"
    for number in range(20):
        name, start = f"study {number}", threading.Barrier(2)
        optuna.create_study(study_name=name, storage=journal(path))

        def claimed(identity: dict[str, str], name: str = name, start: threading.Barrier = start) -> bool:
            study = optuna.load_study(study_name=name, storage=journal(path))
            start.wait()
            try:
                claim(study, identity, path)
            except InputError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            assert sum(pool.map(claimed, (DATA, OTHER))) < 2


def test_processes_that_start_together_draw_apart(tmp_path: Path) -> None:
    """Eight workers with one seed, none of which knows a finished trial: eight different points."""
    path, asked = tmp_path / "shared.journal", section()
    optuna.create_study(study_name="study", storage=journal(path))
    space = objective([ridge()]).space
    points = []
    for _ in range(8):
        study = optuna.load_study(study_name="study", storage=journal(path))
        study.sampler = Drawing(space, asked, 3, (), shared=True)
        points.append(space.draw(study.ask()).learner_params["alpha"])
    assert len(set(points)) == 8


NEIGHBOURS = StrategySection(kind="k_neighbours", space={"n_neighbors": [2, 3, 500, 5, 600]})


def test_a_candidate_that_cannot_be_computed_ends_its_trial_alone() -> None:
    """90 training rows have no 500 neighbours: scikit-learn raises a ValueError."""
    result = run(objective([NEIGHBOURS]), section(sampler="grid"))
    assert sorted(result.history()["k_neighbours.n_neighbors"]) == [2, 3, 5]
    failures = {f["candidate"]["learner_params"]["n_neighbors"]: f["reason"] for f in result.failures}
    assert set(failures) == {500, 600} and "n_samples_fit" in failures[500]


@pytest.mark.slow
def test_a_search_stops_above_its_share_of_failures(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    asked = section(sampler="grid", failures=0.2)
    refuses(r"2 of 5 trials .*\n.*neighbors", run, objective([NEIGHBOURS]), asked, storage=journal(path))
    result = run(objective([NEIGHBOURS]), section(sampler="grid", failures=0.4), storage=journal(path))
    assert len(result.finished) == 3 and len(ended(result.study)) == 5


def test_predictions_that_are_no_numbers_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a learner overflows to must not become a missing figure, or the best one."""
    fit = FoldData.fitted

    def overflowing(self: FoldData, candidate: Candidate, seed: int) -> Any:
        predict = fit(self, candidate, seed)
        return lambda table: predict(table) / (0.0 if candidate.learner_params["alpha"] == 1 else 1.0)

    monkeypatch.setattr(FoldData, "fitted", overflowing)
    with np.errstate(divide="ignore"):
        result = run(objective([ridge({"alpha": [1, 10]})]), section(sampler="grid"))
    (failure,) = result.failures
    assert failure["reason"] == "FloatingPointError: 30 of 30 predictions are not finite"
    assert result.best.learner_params == {"alpha": 10}


@pytest.mark.parametrize("error", [MemoryError, TypeError])
def test_errors_of_the_code_or_the_machine_are_no_failures(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise error("broken")

    monkeypatch.setattr(FoldData, "fitted", broken)
    with pytest.raises(error, match="broken"):
        run(objective([ridge()]), section(trials=2))


@pytest.mark.slow
def test_a_study_of_other_draws_goes_on_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    run(objective([ridge()]), section(trials=3), seed=1, storage=journal(path))
    result = run(objective([ridge()]), section(trials=5), seed=2, storage=journal(path))
    assert len(drawn(result)) == 5 and not result.reproducible


def test_scaling_is_fitted_on_the_training_rows_alone() -> None:
    fold = folds()[0]
    train, held_out = fold.scaled
    assert np.allclose(train["f0"].mean(), 0) and np.allclose(train["f0"].std(ddof=0), 1)
    expected = (fold.test["f0"] - fold.train["f0"].mean()) / fold.train["f0"].std(ddof=0)
    assert np.allclose(held_out["f0"], expected)


def test_trials_are_numbered_alike_everywhere() -> None:
    """Report, table and what is logged call a trial by its place among the finished ones of the search."""
    told: list[Finished] = []
    result = run(objective([ridge()]), section(trials=6), on_trial=told.append)
    assert [one.number for one in told] == result.history()["trial"].tolist() == [1, 2, 3, 4, 5, 6]
    values = [one.trial.value for one in told]
    assert [one.best.value for one in told] == pd.Series(values).cummin().tolist()
    assert values[result.best_number - 1] == min(values) == result.best_trial.value


@pytest.mark.slow
def test_an_interrupted_trial_takes_no_number(tmp_path: Path) -> None:
    storage = journal(tmp_path / "study.journal")
    first = run(objective([ridge()]), section(trials=2), storage=storage)
    first.study.ask()  # as a process that was killed leaves it: running
    result = run(objective([ridge()]), section(trials=4), storage=storage)
    assert result.history()["trial"].tolist() == [1, 2, 3, 4] and len(result.trials) > 4
    assert result.history()["mae"][result.best_number - 1] == result.best_trial.value


def test_a_learner_whose_parameters_name_features_sees_their_names() -> None:
    """As `experiments/no-labels` name theirs: the mean of two columns, one turned round."""
    parts = folds()
    first, second = parts[0].train.columns[:2]
    candidate = Candidate("unsupervised_mean", {"negative": [second], "standardise": False})
    for fold in parts:
        kept = fold.train[[first, second]], fold.test[[first, second]]
        named = FoldData(kept[0], fold.scores, fold.weights, kept[1], fold.gold, fold.rows)
        _, held_out = named.prepared(candidate)
        predicted = named.fitted(candidate, 0)(held_out)
        expected = held_out[first] - held_out[second]
        assert np.corrcoef(predicted, expected)[0, 1] > 1 - 1e-9


def timed(seconds: float) -> type[Objective]:
    """An objective whose trials take so long by the clock, and no time."""

    @dataclass(frozen=True)
    class Timed(Objective):
        def __call__(self, trial: optuna.Trial) -> tuple[float, ...]:
            values = super().__call__(trial)
            started = trial.datetime_start
            assert started is not None
            time.sleep(seconds)
            return values

    return Timed


@pytest.mark.slow
def test_a_search_ends_when_its_time_is_over_however_often_it_was_stopped(tmp_path: Path) -> None:
    """Trials of a second or more, a budget of two: a run that goes on has no second budget."""
    slow = timed(1.0)(folds(), Space([ridge()], [StrategySection(kind="none")]), ("mae",), SCALE, seed=0)
    path, asked = tmp_path / "study.journal", section(time="2s")
    assert run(slow, section(trials=1), storage=journal(path)).ended == "1 trial"
    result = run(slow, asked, storage=journal(path))
    assert len(result.trials) <= 2 and result.ended.startswith("its time is over (2s), after ")
    assert not result.reproducible
    spent = len(result.trials)
    assert len(run(slow, asked, storage=journal(path)).trials) == spent
    longer = run(slow, section(time="10m", trials=spent + 1), storage=journal(path))
    assert longer.ended == f"{spent + 1} trials" and len(longer.trials) == spent + 1


@pytest.mark.slow
def test_a_search_ends_after_trials_without_gain() -> None:
    result = run(objective([ridge()]), section(without_gain=4))
    history = result.history()["mae"]
    assert len(history) == history.idxmin() + 1 + 4 < 10_000
    assert result.ended == f"4 trials without gain, of {len(history)}"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("20m", 1200), ("1.5h", 5400), ("2 d", 172_800)])
def test_a_duration_has_a_unit(text: str, seconds: float) -> None:
    assert section(time=text).time == seconds


@pytest.mark.parametrize("text", ["20", "m", "-5m", "20 minutes", True, ["20m"]])
def test_no_other_text_is_a_duration(text: object) -> None:
    refuses("give a number with a unit|greater than 0", section, error=ValueError, time=text)


def test_a_trial_of_somebodys_choice_is_taken() -> None:
    searched = objective([ridge()], ("mae", "delta_avg"))
    result = run(searched, section(trials=4), trial_number=2)
    second = result.finished[1]
    assert result.best_number == 2 and result.by_user
    assert result.best == Candidate(**second.user_attrs["candidate"])


@pytest.mark.slow
def test_importances_find_the_parameter_that_matters() -> None:
    """The penalty decides; the width of the insensitive band, far below the noise, does not."""
    space: dict[str, object] = {"C": {"low": 1e-4, "high": 1.0, "log": True}, "epsilon": [0.001, 0.0011]}
    learner = StrategySection(kind="svr_linear", space=space)
    result = run(objective([learner]), section(trials=16, sampler="random"))
    shares = importances(result)
    assert list(shares) == ["svr_linear.C", "svr_linear.epsilon"] and shares["svr_linear.C"] > 0.9
    assert sum(shares.values()) == pytest.approx(1)
    assert len(slices(result, shares).axes) == 2
    assert importances(run(objective([learner]), section(trials=4))) == {}


@pytest.mark.slow
def test_the_journal_opens_by_optunas_own_storage(tmp_path: Path) -> None:
    """optuna-dashboard opens a file so: JournalStorage on a JournalFileBackend, with Optuna's own lock."""
    path = tmp_path / "study.journal"
    result = run(objective([ridge()]), section(trials=4), name="mine", storage=journal(path))
    opened = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    (summary,) = optuna.get_all_study_summaries(opened)
    study = optuna.load_study(study_name="mine", storage=opened)
    assert (summary.study_name, summary.n_trials) == ("mine", 4)
    assert study.best_value == result.best_trial.values[0] and study.best_params == result.best_trial.params
    assert study.trials_dataframe()["value"].tolist() == [trial.values[0] for trial in result.finished]
