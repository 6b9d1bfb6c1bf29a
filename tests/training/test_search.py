"""The study: reproducible, resumable, honest about what it chose."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

from features.basics.errors import InputError
from qe.config.experiment import SearchSection, StrategySection
from qe.data.dataset import LabelScale
from qe.data.splits import make_folds
from qe.learning.selectors.forward import ForwardSelection
from qe.models.pipeline import Candidate
from qe.training import search
from qe.training.drawing import ended
from qe.training.search import FoldData, Objective, Space

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


def ridge(space: dict[str, object] | None = None, **params: object) -> StrategySection:
    return StrategySection(kind="ridge", space=space, params=params)


def objective(learners: list[StrategySection], metrics: tuple[str, ...] = ("mae",)) -> Objective:
    return Objective(folds(), Space(learners, [StrategySection(kind="none")]), metrics, SCALE, seed=0)


def section(**keys: object) -> SearchSection:
    return SearchSection.model_validate(keys)


def test_the_same_seed_gives_the_same_study() -> None:
    runs = [search.run(objective([ridge()]), section(trials=6), seed=3) for _ in range(2)]
    assert runs[0].history().drop(columns="seconds").equals(runs[1].history().drop(columns="seconds"))


def test_a_grid_tries_every_combination_once() -> None:
    result = search.run(objective([ridge({"alpha": [0.1, 1, 10, 1000]})]), section(sampler="grid"))
    history = result.history()
    assert sorted(history["ridge.alpha"]) == [0.1, 1, 10, 1000]
    assert result.best_trial.value == history["mae"].min()


def test_nothing_to_search_is_one_trial() -> None:
    result = search.run(objective([ridge({}, alpha=2.0)]), section(trials=50))
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
    result = search.run(shared, section(sampler="grid"))
    assert len(result.trials) == 8 and sorted(fits) == [1] * 4 + [2] * 4
    for trial in result.trials:
        candidate = Candidate(**trial.user_attrs["candidate"])
        alone = Objective(folds(), shared.space, ("mae",), SCALE, seed=0)
        errors = [
            np.abs(p - f.gold).mean() for p, f in zip(alone.predictions(candidate), folds(), strict=True)
        ]
        assert trial.value == pytest.approx(np.mean(errors), abs=1e-12)


def test_what_the_best_trial_predicted_is_not_predicted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty trials, more than are kept, of four folds; one that was dropped is fitted anew, and the same."""
    fits: list[float] = []
    fit = FoldData.fitted

    def counted(self: FoldData, candidate: Candidate, seed: int) -> Any:
        fits.append(candidate.learner_params["alpha"])
        return fit(self, candidate, seed)

    monkeypatch.setattr(FoldData, "fitted", counted)
    searched = objective([ridge({"alpha": [10.0**i for i in range(-10, 10)]})])
    result = search.run(searched, section(sampler="grid"))
    again = searched.predictions(result.best)
    assert len(result.trials) == 20 and len(fits) == 80
    worst = max(result.trials, key=lambda trial: trial.value)
    searched.predictions(Candidate(**worst.user_attrs["candidate"]))
    assert len(fits) == 84
    anew = objective([ridge()]).predictions(result.best)
    assert all((a == b).all() for a, b in zip(again, anew, strict=True))


def test_a_metric_where_higher_is_better_is_maximised() -> None:
    result = search.run(objective([ridge({"alpha": [0.1, 1e6]})], ("delta_avg",)), section(sampler="grid"))
    assert result.best_trial.value == result.history()["delta_avg"].max()


def test_several_objectives_give_a_front() -> None:
    result = search.run(objective([ridge()], ("delta_avg", "mae")), section(trials=8))
    front = result.front()
    for one in front:
        assert not any(other["delta_avg"] > one["delta_avg"] and other["mae"] < one["mae"] for other in front)
    assert result.best_number in {one["trial"] for one in front}


def test_learners_are_searched_together() -> None:
    result = search.run(objective([ridge(), StrategySection(kind="svr_rbf")]), section(trials=12))
    assert set(result.history()["learner"]) == {"ridge", "svr_rbf"}


def test_groups_of_features_are_searched_with_the_learners_parameters() -> None:
    """The labels are made from f0 and f1: the group with both stays, whatever else does; a trial in which no
    column is left is passed over, not the end of the search."""
    groups = {"signal": ["f0", "f1"], "noise": ["f[2-9]", "constant"]}
    switches = {"use": {name: [True, False] for name in groups}}
    selector = StrategySection(kind="groups", params={"groups": groups}, space=switches)
    searched = Objective(folds(), Space([ridge({"alpha": [1.0, 10.0]})], [selector]), ("mae",), SCALE, seed=0)
    result = search.run(searched, section(sampler="grid"))
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
            self.folds[0].predict(candidate, self.scale, self.seed)
        raise Killed


SEARCHES = {
    "tpe": section(trials=14),
    "random": section(trials=6, sampler="random"),
    "grid": section(sampler="grid"),
    "pruned": section(trials=12, pruner="median"),
    "restarts": section(trials=4, restarts=2),
    "several objectives": section(trials=12, objective=["mae", "delta_avg"]),
    "warm start": section(trials=6),
}


def drawn(result: search.SearchResult) -> list[tuple[object, ...]]:
    """What came to its end, in order."""
    trials = [trial for study in result.studies for trial in ended(study)]
    return [(t.state, t.params, t.values, dict(t.intermediate_values)) for t in trials]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEARCHES)
def test_a_search_killed_anywhere_equals_the_uninterrupted_one(kind: str, tmp_path: Path) -> None:
    asked, warm = SEARCHES[kind], [{"ridge.alpha": 3.0}, {"ridge.alpha": 7.0}, {"ridge.alpha": 3.0}]
    grid = [ridge({"alpha": [0.1, 1.0, 10.0, 100.0]})]
    learners = grid if kind == "grid" else [ridge()] if kind == "warm start" else [ridge(), *LINEAR]
    given = Space(learners, [StrategySection(kind="none")]), tuple(asked.objective), SCALE, 0
    more: dict[str, Any] = {"seed": 3, "warm_start": warm if kind == "warm start" else []}
    whole = search.run(Objective(folds(), *given), asked, **more)
    fragile, path = Fragile(folds(), *given), tmp_path / "study.journal"
    kills = 0
    while True:
        try:
            result = search.run(fragile, asked, storage=search.journal(path), **more)
            break
        except Killed:
            kills += 1
    assert kills == 3 * len(drawn(whole))
    assert drawn(result) == drawn(whole) and result.best == whole.best and result.reproducible
    assert not [t for t in result.trials if t.state.name in ("RUNNING", "WAITING")]
    ended = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    assert sum(map(result.count, ended)) == len(drawn(whole)) < len(result.trials)


@pytest.mark.parametrize("line", ['{"op_code": 0, "worker_id": "a"}', '{"op_code": 5}', "[]"])
def test_a_damaged_study_is_one_message(line: str, tmp_path: Path) -> None:
    (tmp_path / "study.journal").write_text(line + "\n")
    space = Space([ridge()], [StrategySection(kind="none")])
    with pytest.raises(InputError, match=r"study\.journal: the study is damaged"):
        search.earlier_trials(tmp_path, space)


def test_a_study_of_other_draws_goes_on_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    search.run(objective([ridge()]), section(trials=3), seed=1, storage=search.journal(path))
    result = search.run(objective([ridge()]), section(trials=5), seed=2, storage=search.journal(path))
    assert len(drawn(result)) == 5 and not result.reproducible


def test_scaling_is_fitted_on_the_training_rows_alone() -> None:
    fold = folds()[0]
    train, held_out = fold.scaled
    assert np.allclose(train["f0"].mean(), 0) and np.allclose(train["f0"].std(ddof=0), 1)
    expected = (fold.held_out["f0"] - fold.train["f0"].mean()) / fold.train["f0"].std(ddof=0)
    assert np.allclose(held_out["f0"], expected)


def test_predictions_stay_on_the_scale() -> None:
    made = objective([ridge()])
    best = search.run(made, section(trials=2)).best
    assert all(((p >= 1) & (p <= 5)).all() for p in made.predictions(best))


@pytest.mark.parametrize(
    ("learner", "keys", "message"),
    [
        (ridge({"alpha": {"low": 1, "high": 2.5}}), {"sampler": "grid"}, "a grid needs a list of values"),
        (ridge({"alpha": "big"}), {}, "learner.space.alpha: not a search space: 'big'"),
        (ridge({"alpha": {"low": 3.0, "high": 1.0}}), {}, "learner.space.alpha: .*low"),
        (ridge({}, lpha=1), {}, "learner 'ridge': .*lpha"),
    ],
)
def test_a_wrong_space_is_an_error(learner: StrategySection, keys: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        search.run(objective([learner]), section(**keys))


def test_trials_of_all_restarts_are_numbered_on() -> None:
    """Report, table and what is logged call a trial by its place among the finished ones of the search."""
    told: list[search.Finished] = []
    result = search.run(
        objective([ridge()]), section(trials=3, restarts=2), storage=None, on_trial=told.append
    )
    assert [one.number for one in told] == result.history()["trial"].tolist() == [1, 2, 3, 4, 5, 6]
    values = [one.trial.value for one in told]
    assert [one.best.value for one in told] == pd.Series(values).cummin().tolist()
    assert values[result.best_number - 1] == min(values) == result.best_trial.value


def test_an_interrupted_trial_takes_no_number(tmp_path: Path) -> None:
    storage = search.journal(tmp_path / "study.journal")
    first = search.run(objective([ridge()]), section(trials=2), storage=storage)
    first.studies[0].ask()  # as a process that was killed leaves it: running
    result = search.run(objective([ridge()]), section(trials=4), storage=storage)
    assert result.history()["trial"].tolist() == [1, 2, 3, 4] and len(result.trials) > 4
    assert result.history()["mae"][result.best_number - 1] == result.best_trial.value


def test_a_learner_whose_parameters_name_features_sees_their_names() -> None:
    """As `experiments/no-labels` name theirs: the mean of two columns, one turned round."""
    parts = folds()
    first, second = parts[0].train.columns[:2]
    candidate = Candidate("unsupervised_mean", {"negative": [second]})
    for fold in parts:
        kept = fold.train[[first, second]], fold.held_out[[first, second]]
        named = FoldData(kept[0], fold.scores, fold.weights, kept[1], fold.gold, fold.rows)
        _, held_out = named.prepared(candidate)
        predicted = named.fitted(candidate, 0)(held_out)
        expected = held_out[first] - held_out[second]
        assert np.corrcoef(predicted, expected)[0, 1] > 1 - 1e-9
