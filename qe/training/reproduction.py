"""Reproduction: trains a finished run again from its record and compares the figures."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.storage.damage import damage_reported, read_json
from qe.config.experiment import IN_MEMORY, Experiment, of_settings
from qe.display.numbers import general, number
from qe.display.table import Column, Table
from qe.tracking.runs import fetched
from qe.training.check import check
from qe.training.train import train

# Parts of a report that are no figures: how it was made, how long it took, and where it went.
_NO_FIGURES = frozenset(
    {"experiment", "recipe", "time", "seconds", "registration", "promotion", "importances"}
)
_COMMIT = "working_directory_commit"  # of the recipe: where the command was given
_REMEDY = "name an output folder of `qe train`, or the id of its run in MLflow"


@dataclass(frozen=True)
class Difference:
    """A value that has changed; `place` as `test.systems.demo.mae`."""

    place: str
    then: Any
    now: Any


@dataclass(frozen=True, eq=False)
class Reproduction:
    figures: int
    differences: Sequence[Difference]
    recipe_differences: Sequence[Difference]
    notes: Sequence[str]

    @property
    def identical(self) -> bool:
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        return {
            "figures": self.figures,
            "same": self.identical,
            "differences": self.differences,
            "made_with": self.recipe_differences,
            "notes": self.notes,
        }

    def table(self) -> Table:
        columns = [Column("what"), Column("then"), Column("now"), Column("difference", drop=1)]
        rows = []
        for each in (*self.recipe_differences, *self.differences):
            numbers = [value for value in (each.then, each.now) if isinstance(value, int | float)]
            change = number(numbers[1] - numbers[0], 6) if len(numbers) == 2 else ""
            rows.append([each.place, _text(each.then), _text(each.now), change])
        title = f"{len(self.differences)} of {self.figures} figures differ"
        return Table(title, columns, rows, notes=list(self.notes))


def report_of(run: str) -> dict[str, Any]:
    """The report of a finished run: of its output folder, or its run id in MLflow. InputError without."""
    identity = re.fullmatch(r"(?:runs:/)?([0-9a-f]{32})", run)
    path = fetched(identity[1], "report.json") if identity else Path(run) / "report.json"
    if not path.is_file():
        raise InputError("holds no finished run (report.json)", location=run, remedy=_REMEDY)
    return read_json("the report", path, _REMEDY)


def reproduce(
    run: str, output: Path, *, cache: Path, overrides: Sequence[str] = (), progress: Progress = silent
) -> Reproduction:
    """Trains a run (`report_of`) again into `output`, untracked, and compares the two reports."""
    then = report_of(run)
    with damage_reported("the report", Path(run), _REMEDY):
        experiment, notes = _experiment(then, overrides)
        searched = then["search"]
        trial = searched["best_trial"] if searched["chosen"] and not notes else None
    now = train(check(experiment), output, cache=cache, trial=trial, progress=progress).report
    excluded = {"search"} if notes else set()
    if _perturbed_rows(then) != _perturbed_rows(now):
        excluded.add("robustness")
        notes.append(
            "the number of perturbed translations depends on the time: their figures are not compared"
        )
    return compared(then, now, excluded, notes)


def _perturbed_rows(report: Mapping[str, Any]) -> int | None:
    section = report.get("robustness")
    return section["rows"] if isinstance(section, Mapping) else None


def compared(
    then: Mapping[str, Any], now: Mapping[str, Any], excluded: set[str], notes: Sequence[str] = ()
) -> Reproduction:
    before, after = (dict(_figures(report, excluded)) for report in (then, now))
    recipes = (dict(_leaves(report["recipe"], "")) for report in (then, now))
    return Reproduction(len(before), _differences(before, after), _differences(*recipes), notes)


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    differences = []
    for place in dict.fromkeys([*then, *now]):
        pair = then.get(place), now.get(place)
        undefined = all(isinstance(value, float) and math.isnan(value) for value in pair)
        if place != _COMMIT and not undefined and pair[0] != pair[1]:
            differences.append(Difference(place, *pair))
    return differences


def _experiment(report: Mapping[str, Any], overrides: Sequence[str]) -> tuple[Experiment, list[str]]:
    settings, search = dict(report["experiment"]), report["search"]
    dataset = settings["dataset"]
    sections = dataset if isinstance(dataset, list) else [dataset]
    if any(section["format"] == IN_MEMORY for section in sections):
        raise InputError("was trained on data in memory, which are not there any more", location="dataset")
    settings |= {"tracking": "off", "search": {**settings["search"], "storage": None}}
    notes = []
    if not search["reproducible"]:
        best = search["best"]
        settings["learner"] = {"kind": best["learner"], "params": best["learner_params"], "space": {}}
        settings["selection"] = {"kind": best["selector"], "params": best["selector_params"], "space": {}}
        notes.append("the search depended on the clock, or on several processes: its winner is fitted again")
    experiment = of_settings(settings, overrides)
    dataset = experiment.settings()["dataset"]
    path = dataset.get("path") if isinstance(dataset, Mapping) else None
    if path is not None and not Path(path).exists():
        remedy = "if the data have moved: `qe reproduce RUN --set dataset.path=FOLDER`"
        raise InputError("the data of the run are not there", location=path, remedy=remedy)
    return experiment, notes


def _figures(report: Mapping[str, Any], excluded: set[str]) -> Iterator[tuple[str, Any]]:
    parts = {key: value for key, value in report.items() if key not in _NO_FIGURES | excluded}
    for place, value in _leaves(parts, ""):
        names = place.split(".")
        if (
            isinstance(value, int | float)
            and not _NO_FIGURES.intersection(names)
            and "seconds" not in names[-1]
        ):
            yield place, value


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        entries = [(str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list | tuple):
        entries = [(str(i), inner) for i, inner in enumerate(value)]
    else:
        yield place, value
        return
    for key, inner in entries:
        yield from _leaves(inner, f"{place}.{key}" if place else key)


def _text(value: Any) -> str:
    return "none" if value is None else general(value) if isinstance(value, float) else str(value)
