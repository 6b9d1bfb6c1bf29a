"""`qe train`: run experiments: search, selection, fit, evaluation, tracking.
`qe ablate`: measure what feature families are worth; draw learning curves.
`qe reproduce`: train a finished run again, show which figures differ.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Interval

from features.basics.errors import InputError
from features.basics.progress import Progress
from qe.cli.shared.options import ExperimentOptions, Positive, Workers
from qe.cli.shared.printing import Result, Verbatim, show_parts
from qe.statistics.settings import Resamples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qe.training.check import Setting
    from qe.training.plan import Plan


def train(
    experiments: list[Path],
    settings: ExperimentOptions,
    progress: Progress,
    output: Path | None = None,
    sweep: list[str] | None = None,
    max_runs: Positive = 1000,
    resume: bool = False,
    trial: Annotated[int | None, Interval(ge=1)] = None,
    overwrite: bool = False,
    promote: bool = False,
    check: bool = False,
    without_missing: bool = False,
    print_: bool = False,
    worker: bool = False,
    workers: Workers = 1,
    per_fold: bool = False,
    json: bool = False,
) -> Result:
    """Run experiments: features, search, selection, fit, evaluation, tracking.

    The first model of a name becomes its champion. Later ones wait, the best of them as `challenger`, until
    `qe promote` (or --promote) finds one significantly better.

    Example:

        qe train experiments/wmt12/baseline.yaml --data-root ../shared/data --output output/baseline

        qe train output/demo/demo.yaml --each learner.kind=ridge,svr_rbf --each seed=0..2 -o output/sweep

    arguments:
      experiments  Experiment files (YAML).

    experiment:
      --each KEY=VALUE,...  One run for each value, such as learner.kind=ridge,lightgbm or seed=0..4.
          Repeatable: one run for each combination.
      --max-runs N  Refuse --each if it makes more runs than this.
      --check  Only check the files, and show what would be run and which programs it needs.
      --print  With --check: print the experiment as YAML, including what it extends and overrides.
      --without-missing  Leave out annotators and MT engines that are not installed, and the features that
          need them.

    running:
      --resume  Continue a run that was interrupted.
      --trial N  With --resume: fit the candidate of this trial (its number in trials.tsv) instead of the
          best.
      --promote  Let the model challenge the champion, if there is one, on the test split (as `qe promote`).
      --worker  Only add trials to the study at search.storage.
      --workers N  Processes that search, on this machine.

    output:
      -o, --output DIR  Folder for report, predictions and model. (default: output/NAME)
      --overwrite  Replace an existing run.
      --per-fold  Also print the figures of each fold, their mean and standard deviation.
    """
    from qe.training.check import plans_of
    from qe.training.check import without_missing as installed_part

    if print_ and not check:
        raise InputError("--print goes with --check")
    if trial is not None and (not resume or len(experiments) > 1):
        raise InputError(
            "--trial chooses from an existing search", remedy="give --resume, and one experiment"
        )
    if worker and workers > 1:
        raise InputError("--worker is one process", remedy="start it several times, or leave it out")
    if sweep and len(experiments) > 1:
        raise InputError("--each changes one experiment", remedy="give one file")
    root, overrides = settings.data_root, settings.overrides or ()
    runs = []
    if sweep:
        runs = plans_of(experiments[0], sweep, data_root=root, overrides=overrides, max_runs=max_runs)
    plans = [plan for _, plan in runs] or _checked(experiments, root, overrides)
    if without_missing:
        plans = [installed_part(plan) for plan in plans]
        for plan in plans:
            for sentence in plan.omitted:
                print(f"{plan.experiment.name}: {sentence}", file=sys.stderr)
    if check:
        return _check_result(plans, print_)
    if worker:
        from qe.training.train import contribute

        counts = {e.experiment.name: contribute(e, cache=settings.cache, progress=progress) for e in plans}
        lines = [f"{name}: the study has {trials} trials" for name, trials in counts.items()]
        return Result("", counts, lines, forms={"json": lambda: "\n".join([*lines, ""])})
    options = {"cache": settings.cache, "resume": resume, "overwrite": overwrite, "workers": workers}
    options["progress"] = progress
    sweep_settings = [setting for setting, _ in runs]
    return _train(plans, sweep_settings, output, options, trial, promote, per_fold, json)


def _train(
    plans: "Sequence[Plan]", sweep: "Sequence[Setting]", output: Path | None, options: dict[str, Any],
    trial: int | None, promote: bool, per_fold: bool, json: bool,
) -> Result:  # fmt: skip
    from qe.cli._summary import outcome_parts
    from qe.cli.decide import decision_lines
    from qe.training.batch import spread_table, train_all
    from qe.training.train import train as run

    loaded = [plan.experiment for plan in plans]
    labelled = {}
    if promote:
        from qe.production.promotion import Candidacy, of_experiment, promote_trained

        for experiment in loaded:
            if not experiment.tracking.registers:
                problem = "--promote needs a model that is registered"
                raise InputError(problem, location="tracking.register")
            labelled[experiment.name] = of_experiment(experiment)
    folder = output or Path("output") / (loaded[0].name if len(loaded) == 1 else "batch")
    parts: list[Any] = []
    if len(plans) == 1:
        outcomes = [run(plans[0], folder, trial=trial, **options)]
        parts += outcome_parts(outcomes[0], per_fold)
    else:
        on_outcome = None if json else lambda outcome: show_parts(outcome_parts(outcome, per_fold))
        outcomes, boards = train_all(plans, folder, on_outcome=on_outcome, **options)
        parts += [board.summary() for board in boards]
        if sweep and (spread := spread_table(list(zip(sweep, outcomes, strict=True)))) is not None:
            parts.append(spread)
    if promote:
        pairs = zip(loaded, outcomes, strict=True)
        decisions = promote_trained([Candidacy(o, e.evaluation.metric, labelled[e.name]) for e, o in pairs])
        for decision in decisions:
            for outcome in outcomes:
                entry = outcome.report["registration"] or {}
                if (entry.get("name"), entry.get("version")) == (decision.name, decision.challenger):
                    outcome.report["promotion"] = decision.to_json()
            parts += map(Verbatim, decision_lines(decision))
    reports = [outcome.report for outcome in outcomes]
    if len(reports) == 1:
        return Result("report", reports[0], parts)
    return Result("train-runs", {"reports": reports}, parts)


def _checked(paths: "Sequence[Path]", data_root: Path | None, overrides: "Sequence[str]") -> "list[Plan]":
    from qe.training.check import load

    plans, refused = [], []
    for path in paths:
        try:
            plans.append(load(path, data_root=data_root, overrides=overrides))
        except InputError as error:
            refused.append(str(error))
    if refused:
        raise InputError("\n".join(refused))
    names = [plan.experiment.name for plan in plans]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"several experiments are named {sorted(twice)}", remedy="names must differ")
    return plans


def _check_result(plans: "Sequence[Plan]", as_yaml: bool) -> Result:
    if as_yaml:
        from features.storage.strict_yaml import to_yaml

        files = [plan.experiment.file_content() for plan in plans]
        text = "---\n".join(map(to_yaml, files)).removesuffix("\n")
        return Result("train-print", {"experiments": files}, [Verbatim(text)])
    from qe.training.check import needed

    needs = [(plan, needed(plan)) for plan in plans]
    content = [{**plan.to_json(), "needs": [vars(each) for each in all_of]} for plan, all_of in needs]
    blocks = ([str(plan), *(f"  needs     {each}" for each in all_of)] for plan, all_of in needs)
    lines = [Verbatim("\n".join(block)) for block in blocks]
    return Result("train-check", {"experiments": content}, lines)


def ablate(
    experiment: Path,
    settings: ExperimentOptions,
    progress: Progress,
    base: list[str] | None = None,
    sizes: Annotated[list[int] | None, Interval(ge=20)] = None,
    draws: Annotated[int, Interval(ge=1, le=100)] = 3,
    plot: Path | None = None,
    samples: Resamples = None,
) -> Result:
    """Measure every feature family alone and left out, and draw the learning curve.

    One search with all features chooses the parameters; subsets are measured with those, on the same folds.
    With --sizes, families that learn from labels are refitted on the rows drawn, and nothing else is done. An
    experiment with auxiliary datasets has two curves: with them, and without them.

    Examples:

        qe ablate experiments/wmt12/best-own.yaml --data-root ../shared/data --base baseline17

        qe ablate output/demo/demo.yaml --sizes 100 300 900 --plot curve.png

    arguments:
      experiment  Experiment file with two feature families or more.

    tests:
      --base FAMILY  Also measure every other family added to this one. Repeatable.
      --sizes ROWS...  Only the learning curve, at these numbers of training rows.
      --draws N  Random draws of rows for each of --sizes.

    output:
      --plot FILE  With --sizes: a plot of the curve (PNG, SVG or PDF).
    """
    from qe.training.ablation import ALONE, WITH, ablation_tables, curve_table, learning_curves, to_json
    from qe.training.ablation import ablate as run

    loaded = settings.load(experiment)
    if plot is not None and not sizes:
        raise InputError("--plot draws the curve of --sizes", remedy="give --sizes")
    if sizes and base:
        raise InputError("--base and --sizes exclude each other")
    if not sizes:
        ablation = run(
            loaded, cache=settings.cache, base=base or (), samples=samples, seed=loaded.evaluation.seed,
            progress=progress,
        )  # fmt: skip
        return Result("ablate", to_json(ablation), ablation_tables(ablation))
    from features.storage.outputs import check_output
    from qe.display.charts import save

    if plot is not None:
        check_output(plot, [experiment, *loaded.inputs()])
    curves = learning_curves(
        loaded, sizes, cache=settings.cache, draws=draws, samples=samples, seed=loaded.evaluation.seed,
        progress=progress,
    )  # fmt: skip
    if plot is not None:
        from qe.training.ablation import learning_curve_plot

        save(learning_curve_plot(curves, loaded.evaluation.metric), plot)
    alone = {"alone": curves[ALONE].to_json()} if WITH in curves else {}
    content = curves[WITH if alone else ALONE].to_json() | alone
    titles = {name: f", {name}" if alone else "" for name in curves}
    tables = [curve_table(curves[name], title) for name, title in titles.items()]
    return Result("ablate-sizes", content, tables)


def reproduce(
    run: str,
    progress: Progress,
    output: Path | None = None,
    overrides: list[str] | None = None,
    cache_dir: Path | None = None,
) -> Result:
    """Train a finished run again from the settings in its report, and show which figures differ.

    Also shows differences of data, features, resources and versions. The new run is not tracked. Exit code 0
    if all figures are equal, 1 if some differ.

    Example:

        qe reproduce output/demo

        qe reproduce output/demo --set dataset.path=/data/moved

    arguments:
      run RUN  Output folder of `qe train`, or the id of a run in MLflow.

    output:
      -o, --output DIR  Folder of the new run. (default: it is not kept)
    """
    from tempfile import TemporaryDirectory

    from qe.resources.bundle_source import default_cache
    from qe.training.reproduction import reproduce as train_again

    cache = cache_dir or default_cache()
    with TemporaryDirectory(prefix="qe-") as scratch:
        folder = output or Path(scratch) / "run"
        found = train_again(run, folder, cache=cache, overrides=overrides or (), progress=progress)
    lines = [f"all {found.figures} figures are the same", *found.notes]
    shown = [found.table()] if found.differences or found.recipe_differences else lines
    return Result("reproduce", found, shown, code=0 if found.identical else 1)
