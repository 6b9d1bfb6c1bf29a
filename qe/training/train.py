"""Training: one experiment from its plan to a tracked, registered model, stage by stage."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from features.basics.errors import InputError
from features.basics.plugins import version
from features.basics.progress import Progress, silent
from features.storage.damage import read_json
from features.storage.files import digest
from features.storage.outputs import locked_folder
from qe.data.dataset import Dataset
from qe.display import output_schemas
from qe.display.numbers import settings
from qe.display.summary import Printable
from qe.display.table import Table
from qe.models.card import Card
from qe.models.model import Model
from qe.tracking.runs import Run
from qe.tracking.settings import load_settings
from qe.training import fitting, reporting, tracked
from qe.training.objective import FoldData
from qe.training.plan import Plan
from qe.training.preparation import SETTINGS, Prepared, feature_tables, prepare
from qe.training.reporting import TrainingResult
from qe.training.run_state import JOURNAL, STATE, Clock, RunState
from qe.training.search import Helpers, gathered, nested_predictions, search_candidates
from qe.training.words import words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class RegisteredModel(NamedTuple):
    """A model in the MLflow registry; `alias` is champion, challenger or none."""

    name: str
    version: int
    alias: str | None


@dataclass(frozen=True, eq=False)
class Outcome(Printable):
    """The report of a training (JSON values), the model, and the folder of both.

    Attributes
    ----------
    unchanged : bool
        Whether a finished run of the same experiment was there, so that nothing was done.
    """

    report: dict[str, Any]
    model: Model
    output: Path
    run_id: str
    unchanged: bool = False

    @property
    def registered(self) -> RegisteredModel | None:
        """The registered model; None if the run registered none."""
        entry = self.report.get("registration")
        if not entry:
            return None
        alias = "champion" if entry["champion"] else "challenger" if entry["challenger"] else None
        return RegisteredModel(entry["name"], int(entry["version"]), alias)

    def figures(self, part: str = "cross_validation") -> pd.DataFrame:
        """The scores of the model and of the baselines: a row a system, a column a metric.

        `part` is `cross_validation`, `nested` or `test`; InputError if the run has no such part.
        """
        section = self.report.get(part)
        if not isinstance(section, dict) or "systems" not in section:
            raise InputError(
                f"the run has no figures of '{part}'",
                remedy="`nested` needs `split.outer`, `test` a test split with labels",
            )
        rows = {
            name: {metric: value for metric, value in scores.items() if isinstance(value, int | float)}
            for name, scores in section["systems"].items()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def plots(self, split: str = "train") -> "dict[str, Figure]":
        """The run's Matplotlib figures of a split with labels; training rows are predicted out of fold."""
        from qe.training.plots import prediction_figures

        return prediction_figures(self.output, self.report, split)

    def summary(self) -> Table:
        """Figures of the model and its baselines: on the test split, or else out of fold."""
        from qe.training.summary import scores_table

        part = "test" if self.report["test"] else "cross_validation"
        experiment, best = self.report["experiment"], self.report["search"]["best"]
        title = f"{experiment['name']}: {'test split' if part == 'test' else 'cross-validation'}"
        table = scores_table(title, self.report[part], experiment["evaluation"]["metric"])
        learner = f"{best['learner']} {settings({**best['learner_params'], **best['selector_params']})}"
        return replace(table, notes=[f"learner: {learner}", f"model, report and plots: {self.output}"])


def train(
    plan: Plan,
    output: Path,
    *,
    cache: Path,
    dataset: Dataset | None = None,
    resume: bool = False,
    overwrite: bool = False,
    keep_same: bool = False,
    trial: int | None = None,
    workers: int = 1,
    parent: str | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Runs one checked experiment; all results are in `output` and in MLflow.

    Killed at any point, `resume` continues without losing a finished trial. If the same experiment on the
    same data has finished, nothing is done; `overwrite` does it again, unless `keep_same` is set.
    `dataset` replaces the one that the experiment's section names. `trial` is the number of the trial to
    fit; default: the best. `workers` processes search, this one included.

    Raises InputError for data or settings that cannot be used, before anything is written, for a folder that
    holds anything else than a run to continue or to `overwrite`, and while another process trains there.
    """
    if plan.experiment.tracking.enabled:
        load_settings()  # fail early on bad settings
    with locked_folder(output, "train", allowed_verbs=("demo",), earlier_files=(STATE,)):
        state = RunState.open(output, resume, overwrite, keep_same=keep_same)
        started, clock = time.perf_counter(), Clock(progress)
        with clock.part("data and resources"):
            prepared = prepare(plan, cache, progress, calibrating=True, dataset=dataset, clock=clock)
        _claim(state, prepared, trial)
        if state.unchanged:
            report = read_json("the report", output / "report.json", "start again with --overwrite")
            return Outcome(report, Model.load(output / "model"), output, state.run_id or "", unchanged=True)
        with tracked.started(plan.experiment, resume=state.run_id, parent=parent) as run:
            state.run_id = run.id or None
            state.write(finished=False)
            data = tracked.log_start(run, prepared)
            with clock.part("feature tables"):
                folds = feature_tables(prepared)
            helpers = Helpers(plan, dataset, cache, workers) if workers > 1 else None
            result = _fit(prepared, folds, output, run, clock, trial, helpers, progress)
            with clock.part("report and plots"):
                report = reporting.assemble(result, output)
                model = result.model.described(**reporting.about(report))
                card = Card(model, None if result.robustness is None else result.robustness[1])
                model.save(output / "model", (*result.companions.all(), card))
                reporting.write(output, result, progress)
            logged, registration = tracked.register(run, result.prepared, model, output / "model", report)
            seconds = {"seconds": round(time.perf_counter() - started, 2), "time": clock.parts()}
            report = output_schemas.stamped("report", {**report, **seconds, "registration": registration})
            reporting.write_report(output, report)
            tracked.log_end(run, output, result, report, data, logged)
            state.write(finished=True)
    return Outcome(report, model, output, run.id)


def _fit(
    prepared: Prepared,
    folds: Sequence[FoldData],
    output: Path,
    run: Run,
    clock: Clock,
    trial: int | None,
    helpers: Helpers | None,
    progress: Progress,
) -> TrainingResult:
    with clock.part("search"), tracked.search_logger(run, prepared) as log:
        search = search_candidates(
            prepared, folds, journal=output / JOURNAL, shared=True, trial_number=trial, on_trial=log,
            helpers=helpers, progress=progress,
        )  # fmt: skip
    if search.section != prepared.experiment.search:
        # The record, and nested cross-validation, have the budgets that were spent.
        experiment = prepared.experiment.model_copy(update={"search": search.section})
        prepared = replace(prepared, experiment=experiment)
        spent = {key: str(getattr(search.section, key)) for key in ("trials", "without_gain")}
        run.tags({f"resumed.search.{key}": value for key, value in spent.items()})
    with clock.part("out-of-fold predictions"):
        predicted = search.objective.predictions(search.best)
        repeats = gathered(folds, predicted, prepared.experiment.split.folds)
    with clock.part("nested cross-validation"):
        nested = nested_predictions(prepared, progress)
    with clock.part("guard"):
        guard, guarded, nested = fitting.guard_predictions(prepared, repeats, nested, progress)
    with clock.part("the model"):
        model = fitting.fit_model(prepared, search.best, guard)
    with clock.part("predictions of other splits"):
        scored = {
            name: fitting.score(prepared, model, split) for name, split in prepared.other_splits.items()
        }
        predictions = {name: predicted for name, (_, predicted) in scored.items()}
    with clock.part("intervals and profile"):
        companions = fitting.companions_of(prepared, model, guarded[0], scored)
        covered = fitting.coverage_of_splits(prepared, scored, companions.intervals)
    with clock.part("words"):
        words = words_of(prepared)
    companions = replace(companions, word_tags=None if words is None else words.learned)
    with clock.part("perturbed translations"):
        robustness = fitting.robustness_of_run(prepared, model, progress)
    return TrainingResult(
        prepared, search, guarded, nested, model, companions, predictions, covered, words, robustness
    )


def contribute(plan: Plan, *, cache: Path, progress: Progress = silent) -> int:
    """Runs trials of the experiment's shared study until it has enough; returns its size."""
    if plan.experiment.search.storage is None:
        raise InputError(
            "a worker needs a study that processes share",
            location="search.storage",
            remedy="name a journal file or a database URL, the same for all workers",
        )
    prepared = prepare(plan, cache, progress, calibrating=True)
    result = search_candidates(prepared, feature_tables(prepared), shared=True, progress=progress)
    return len(result.trials)


def _claim(state: RunState, prepared: Prepared, trial: int | None) -> None:
    experiment, dataset = prepared.experiment, prepared.dataset
    values = experiment.settings()
    text = json.dumps(values, sort_keys=True)
    for key in ("trials", "time", "without_gain", "storage", "failures"):
        values["search"].pop(key)
    relevant = {key: values[key] for key in (*SETTINGS, "split", "selection", "learner", "search")}
    fingerprint = digest(
        json.dumps(relevant, sort_keys=True),
        dataset.fingerprint,
        prepared.extraction.feature_set.fingerprint,
        *(each.fingerprint for each in prepared.auxiliaries),
    )
    command = digest(version(), text, fingerprint, *([] if trial is None else [trial]))
    others = [file for each in prepared.auxiliaries for file in each.files]
    inputs = [*experiment.inputs(), *dataset.files(experiment.dataset.path), *others]
    state.claim(fingerprint, inputs, command)
