"""`qe train`: run experiments: search, selection, fit, evaluation, tracking."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._common import print_json
from qe.cli._options import CacheDir, DataRoot, Json, Overrides, Overwrite, Quiet, output_option, run_option
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qe.config.experiment import Experiment
    from qe.production.promotion import Decision, Labelled
    from qe.training.batch import Setting
    from qe.training.plan import Plan
    from qe.training.train import Outcome


def train(
    experiments: Annotated[list[Path], typer.Argument(help="Experiment files (YAML).")],
    output: Annotated[
        Path | None,
        output_option(
            "--output", "-o", help="Folder for report, predictions and model; default output/NAME."
        ),
    ] = None,
    data_root: DataRoot = None,
    settings: Overrides = None,
    each: Annotated[
        list[str] | None,
        typer.Option(
            "--each",
            metavar="KEY=VALUE,...",
            help="A run for every value, such as learner.kind=ridge,lightgbm or seed=0..4; repeatable: for "
            "every combination.",
        ),
    ] = None,
    resume: Annotated[bool, run_option("--resume", help="Go on with a run that was stopped.")] = False,
    trial: Annotated[
        int | None,
        run_option(
            "--trial",
            min=1,
            help="With --resume: fit the candidate of this trial (its number in trials.tsv), not the best.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    promote: Annotated[
        bool,
        run_option(
            "--promote",
            help="Let the model, if there is a champion, challenge it on the test split (as `qe promote`).",
        ),
    ] = False,
    only_check: Annotated[
        bool,
        run_option(
            "--check", help="Only check the files, and say what would be run and which programs it needs."
        ),
    ] = False,
    without_missing: Annotated[
        bool,
        run_option(
            "--without-missing",
            help="Leave out annotators and engines that are not installed, and features that need them.",
        ),
    ] = False,
    print_resolved: Annotated[
        bool,
        typer.Option(
            "--print", help="With --check: print the experiment as YAML, with what it extends and overrides."
        ),
    ] = False,
    worker: Annotated[
        bool, run_option("--worker", help="Only add trials to the study at search.storage, then stop.")
    ] = False,
    workers: Annotated[
        int, run_option("--workers", min=1, max=1024, help="Processes that search, on this machine.")
    ] = 1,
    cache_dir: CacheDir = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run experiments: features, search, selection, fit, evaluation, tracking.

    The first model of a name becomes its champion. Later ones wait, the best of them as `challenger`, until
    `qe promote` (or --promote, here) finds one significantly better.

    Example:

        qe train experiments/wmt12/baseline.yaml --data-root ../shared/data --output output/baseline

        qe train output/demo/demo.yaml --each learner.kind=ridge,svr_rbf --each seed=0..2 -o output/sweep
    """
    from features.basics.errors import InputError

    if print_resolved and not only_check:
        raise InputError("--print goes with --check")
    if trial is not None and (not resume or len(experiments) > 1):
        raise InputError(
            "--trial chooses from a search that is there", remedy="give --resume, and one experiment"
        )
    if worker and workers > 1:
        raise InputError("--worker is one process", remedy="start it several times, or leave it out")
    if each and len(experiments) > 1:
        raise InputError("--each changes one experiment", remedy="give one file")
    swept = _swept(experiments[0], each, data_root, settings or ()) if each else []
    plans = [plan for _, plan in swept] or _checked(experiments, data_root, settings or ())
    if without_missing:
        plans = _without_missing(plans)
    if print_resolved:
        _print_resolved(plans, as_json)
        return
    if only_check:
        _print_plans(plans, as_json)
        return
    from qe.cli._summary import print_outcome, print_reports
    from qe.cli.promote import print_decision
    from qe.display.terminal import show
    from qe.resources.cache import default_cache
    from qe.training.batch import train_all
    from qe.training.train import contribute
    from qe.training.train import train as run

    if worker:
        for plan in plans:
            with progress_bar(quiet or as_json) as progress:
                trials = contribute(plan, cache=cache_dir or default_cache(), progress=progress)
            print(f"{plan.experiment.name}: the study has {trials} trials")
        return
    loaded = [plan.experiment for plan in plans]
    judged_by = {e.name: _judged_by(e) for e in loaded} if promote else {}
    folder = output or Path("output") / (loaded[0].name if len(loaded) == 1 else "batch")
    cache = cache_dir or default_cache()
    on_outcome = None if as_json else print_outcome
    with progress_bar(quiet or as_json) as progress:
        if len(loaded) == 1:
            outcomes = [
                run(
                    plans[0],
                    folder,
                    cache=cache,
                    resume=resume,
                    overwrite=overwrite,
                    trial=trial,
                    workers=workers,
                    progress=progress,
                )
            ]
        else:
            outcomes, boards = train_all(
                plans,
                folder,
                cache=cache,
                resume=resume,
                overwrite=overwrite,
                workers=workers,
                on_outcome=on_outcome,
                progress=progress,
            )
    decisions = _promote(loaded, outcomes, judged_by) if promote else []
    if as_json:
        print_reports(outcomes)
    elif len(loaded) == 1:
        print_outcome(outcomes[0])
    else:
        for board in boards:
            show(board.summary())
        if swept:
            _show_spread([(setting, outcome) for (setting, _), outcome in zip(swept, outcomes, strict=True)])
    for decision in decisions if not as_json else ():
        print_decision(decision)


def _checked(paths: "Sequence[Path]", data_root: Path | None, settings: "Sequence[str]") -> "list[Plan]":
    from features.basics.errors import InputError
    from qe.training.check import load

    plans, refused = [], []
    for path in paths:
        try:
            plans.append(load(path, data_root=data_root, overrides=settings))
        except InputError as error:
            refused.append(str(error))
    if refused:
        raise InputError("\n".join(refused))
    names = [plan.experiment.name for plan in plans]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"several experiments are named {sorted(twice)}", remedy="names must differ")
    return plans


def _swept(
    path: Path, each: "Sequence[str]", data_root: Path | None, settings: "Sequence[str]"
) -> "list[tuple[Setting, Plan]]":
    from qe.training.batch import plans_of

    return plans_of(path, each, data_root=data_root, overrides=settings)


def _show_spread(outcomes: "Sequence[tuple[Setting, Outcome]]") -> None:
    from qe.display.terminal import show
    from qe.training.batch import spread_table

    table = spread_table(outcomes)
    if table is not None:
        show(table)


def _print_resolved(plans: "Sequence[Plan]", as_json: bool) -> None:
    from features.storage.strict_yaml import to_yaml

    files = [plan.experiment.written() for plan in plans]
    if as_json:
        print_json("train-print", {"experiments": files})
    else:
        print("---\n".join(map(to_yaml, files)).removesuffix("\n"))


def _without_missing(plans: "Sequence[Plan]") -> "list[Plan]":
    from qe.training.check import without_missing

    left = [without_missing(plan) for plan in plans]
    for plan in left:
        for sentence in plan.omitted:
            typer.echo(f"{plan.experiment.name}: {sentence}", err=True)
    return left


def _print_plans(plans: "Sequence[Plan]", as_json: bool) -> None:
    from qe.training.check import needed

    if as_json:
        told = [{**plan.to_json(), "needs": [vars(each) for each in needed(plan)]} for plan in plans]
        print_json("train-check", {"experiments": told})
    else:
        for plan in plans:
            print(plan)
            print(*(f"  needs     {each}" for each in needed(plan)), sep="\n", end="\n" * bool(needed(plan)))


def _judged_by(experiment: "Experiment") -> "Labelled":
    from features.basics.errors import InputError
    from qe.production.promotion import of_experiment

    if not experiment.tracking.registers:
        raise InputError("--promote needs a model that is registered", location="tracking.register")
    return of_experiment(experiment)


def _promote(
    experiments: "Sequence[Experiment]",
    outcomes: "Sequence[Outcome]",
    data: "Mapping[str, Labelled]",
) -> "list[Decision]":
    from qe.production.promotion import Candidacy, promote_trained

    pairs = zip(experiments, outcomes, strict=True)
    decisions = promote_trained([Candidacy(o, e.evaluation.metric, data[e.name]) for e, o in pairs])
    for decision in decisions:
        for outcome in outcomes:
            entry = outcome.report["registration"] or {}
            if (entry.get("name"), entry.get("version")) == (decision.name, decision.challenger):
                outcome.report["promotion"] = decision.to_json()
    return decisions
