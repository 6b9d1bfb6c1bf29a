"""What is wrong with an experiment is said before anything is read; what is right passes."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import qe
from features.basics.errors import InputError
from features.basics.hints import fits
from features.core.bundle import known_parts
from features.core.feature_set import EXTRACTORS
from qe.learning.learner import LEARNERS
from qe.learning.parameters import Parameters, constructor, strategy_mistakes
from qe.learning.selector import SELECTORS
from qe.resources.settings import settings_of
from qe.training.check import load, mistakes
from tests.factories import refuses

STRATEGIES = [
    *((LEARNERS, name) for name in LEARNERS.names),
    *((SELECTORS, name) for name in SELECTORS.names),
]


def wrong_with(
    catalogue: Any, kind: str, params: Mapping[str, Any], space: Any = None
) -> list[tuple[str, str]]:
    return list(strategy_mistakes(catalogue, kind, params, space, "learner", "learner.params"))


def names_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(("catalogue", "kind"), STRATEGIES, ids=names_of)
def test_a_strategy_takes_its_defaults_and_what_its_own_space_draws(catalogue: Any, kind: str) -> None:
    known = Parameters.from_constructor(constructor(catalogue, kind), kind)
    for name, value in constructor(catalogue, kind)().get_params(deep=False).items():
        assert not list(known.value_mistakes(name, value, name))
    for name, distribution in catalogue.get(kind).space.items():
        for value in distribution.ends:
            assert not list(known.value_mistakes(name, value, name))


@pytest.mark.parametrize(("catalogue", "kind"), STRATEGIES, ids=names_of)
def test_a_strategy_says_of_what_type_every_parameter_is(catalogue: Any, kind: str) -> None:
    known = Parameters.from_constructor(constructor(catalogue, kind), kind)
    for name in known.names:
        assert name in known.hints or name in known.constraints, f"'{name}' has no annotation"


@pytest.mark.parametrize(("catalogue", "kind"), STRATEGIES, ids=names_of)
def test_a_strategy_refuses_other_names_and_numbers_that_are_none(catalogue: Any, kind: str) -> None:
    ((place, what),) = wrong_with(catalogue, kind, {"alhpa_": 1})
    assert place == "learner.params.alhpa_" and "has no such parameter" in what
    default = constructor(catalogue, kind)().get_params(deep=False)
    for name, value in default.items():
        if isinstance(value, float):
            for given in ("abc", [1.0], float("nan"), float("inf"), True):
                ((place, what),) = wrong_with(catalogue, kind, {name: given})
                assert place == f"learner.params.{name}" and "but got" in what


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("averaging", {"weights": [1, 2]}, "4 members need as many weights"),
        ("averaging", {"members": [{"kind": "svr_rbf", "C": 0}]}, "in the range (0.0, inf], but got 0"),
        ("seed_averaging", {"member": {"kind": "lightgbm", "random_state": 3}}, "leave it out"),
        ("discretised", {"classifier": "svm", "classifier_params": {"C": -1}}, "classifier_params.C: must"),
        ("random_forest", {"seed": 2**32}, "must be a whole number from 0 to 4294967295, but got 4294967296"),
    ],
)
def test_ranges_that_a_learner_states(kind: str, params: Mapping[str, Any], message: str) -> None:
    ((_, what),) = wrong_with(LEARNERS, kind, params)
    assert message in what


@pytest.mark.parametrize("kind", LEARNERS.names)
def test_the_largest_seed_makes_an_estimator(kind: str) -> None:
    LEARNERS.get(kind)().estimator(seed=2**32 - 1)


def test_settings_of_extractors_and_parts_are_in_their_own_ranges() -> None:
    for name in EXTRACTORS.names:
        extractor: Any = EXTRACTORS.get(name)
        hints = get_type_hints(extractor, include_extras=True)
        for entry in fields(extractor) if is_dataclass(extractor) else ():
            if entry.init and entry.default is not MISSING:
                assert fits(entry.default, hints[entry.name]), (name, entry.name)
    for part in known_parts().values():
        for key, setting in settings_of(part, {}).items():
            assert fits(setting.default, setting.hint), (part.name, key)


@pytest.mark.slow
def test_the_experiments_of_the_project_are_right_but_for_files_that_are_not_here(tmp_path: Path) -> None:
    root = Path(qe.__file__).parents[1]
    absent = ("no such dataset", "no such file", "unknown annotator 'annotators/")
    for path in sorted(root.glob("experiments/*/*.yaml")):
        try:
            load(path, data_root=tmp_path)
        except InputError as error:
            wrong = str(error).splitlines()
            for line in wrong[len(wrong) > 1 :]:
                assert any(reason in line for reason in absent), f"{path.name}: {line}"


def test_from_python_all_is_said_at_once_and_nothing_is_made(tmp_path: Path) -> None:
    wrong = {"features": ["surfce"], "learner": {"kind": "rigde"}, "search": {"objective": "mea"}}
    experiment = qe.load_experiment({**SMALL, **wrong}, data_root=tmp_path)
    assert len(list(mistakes(experiment, []))) == 3
    refuses("experiment 'small': 3 mistakes:", qe.check_experiment, experiment)
    refuses("'small': 3 mistakes:", qe.train, experiment, tmp_path / "out", cache=tmp_path / "cache")
    assert not list(tmp_path.iterdir())


def test_texts_of_resources_may_come_from_pipes(tmp_path: Path) -> None:
    for name in ("source", "target", "more"):
        os.mkfifo(tmp_path / name)
    resources = {"source": "source", "target": "target", "target_monolingual": "more"}
    experiment = qe.load_experiment(
        {**SMALL, "resources": {**resources, "source_monolingual": "none"}}, data_root=tmp_path
    )
    (mistake,) = mistakes(experiment, [])
    assert mistake == f"resources.source_monolingual: no such file: {tmp_path / 'none'}"


@pytest.mark.slow
def test_checking_loads_neither_optuna_nor_mlflow_nor_plots(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(
        "name: small\ndataset: {format: wmt12, path: .}\nfeatures: [surface]\n"
        "learner: {kind: averaging}\nselection: {kind: forward}\n"
    )
    code = (
        "import sys; from qe.cli import train; from qe.cli.shared.commands import Command\n"
        f"Command(train.train, 'train', 'train').run([{str(tmp_path / 'small.yaml')!r}, '--check'])\n"
        "print(sorted({'optuna', 'mlflow', 'matplotlib', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("small: ok\n") and done.stdout.endswith("\n[]\n"), done.stdout


SMALL = {
    "name": "small",
    "dataset": {"format": "wmt12", "path": "."},
    "features": ["surface"],
    "learner": {"kind": "ridge"},
}


def test_every_mistake_has_its_place() -> None:
    params = {"alpha": -1, "l1_ratio": 1.5, "max_iter": 0, "warm_strat": True}
    space = {"alpha": {"low": -1, "high": 1}, "l1_ratio": [0.5, 2], "tol": {"low": 1, "high": 0}}
    assert [place for place, _ in wrong_with(LEARNERS, "elastic_net", params, space)] == [
        *("learner.params.alpha", "learner.params.l1_ratio", "learner.params.max_iter"),
        *("learner.params.warm_strat", "learner.space.alpha", "learner.space.l1_ratio", "learner.space.tol"),
    ]
