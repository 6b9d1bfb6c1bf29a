"""The study: reproducible, resumable, honest about what it chose."""

from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest

from features.core.errors import InputError
from qe import search
from qe.dataset import LabelScale
from qe.experiment import SearchSection, StrategySection
from qe.search import FoldData, Objective, Space
from qe.splits import make_folds

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


def test_a_metric_where_higher_is_better_is_maximised() -> None:
    result = search.run(objective([ridge({"alpha": [0.1, 1e6]})], ("delta_avg",)), section(sampler="grid"))
    assert result.best_trial.value == result.history()["delta_avg"].max()


def test_several_objectives_give_a_front() -> None:
    result = search.run(objective([ridge()], ("delta_avg", "mae")), section(trials=8))
    front = result.front()
    for one in front:
        assert not any(other["delta_avg"] > one["delta_avg"] and other["mae"] < one["mae"] for other in front)
    assert result.best_trial.number in {one["trial"] for one in front}


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


def test_a_killed_study_goes_on_and_loses_no_finished_trial(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def kill(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if trial.number == 3:
            raise Killed

    path = tmp_path / "study.journal"
    with pytest.raises(Killed):
        search.run(objective([ridge()]), section(trials=8), storage=search.journal(path), on_trial=kill)
    before = optuna.load_study(study_name="study", storage=search.journal(path))
    kept = {t.number: (t.value, t.params) for t in before.trials}
    before.ask()  # a trial that a killed process left running
    result = search.run(objective([ridge()]), section(trials=8), storage=search.journal(path))
    finished = {t.number: (t.value, t.params) for t in result.trials if t.state.name == "COMPLETE"}
    assert len(finished) == 8 and all(finished[number] == kept[number] for number in kept)
    assert not [t for t in result.trials if t.state.name == "RUNNING"]


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
