"""`qe ablate`: measure what feature families are worth; draw learning curves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli.shared.options import ExperimentOptions, Resamples
from qe.cli.shared.printing import emit
from qe.cli.shared.progress import progress_bar

if TYPE_CHECKING:
    from features.basics.progress import Progress
    from qe.config.experiment import Experiment
    from qe.training.ablation import LearningCurve


def ablate(
    experiment: Path,
    settings: ExperimentOptions,
    base: list[str] | None = None,
    sizes: Annotated[list[int] | None, typer.Option(min=20)] = None,
    draws: Annotated[int, typer.Option(min=1, max=100)] = 3,
    plot: Path | None = None,
    samples: Resamples = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
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
    from features.basics.errors import InputError
    from qe.training.ablation import ALONE, WITH, ablation_tables, curve_table, to_json
    from qe.training.ablation import ablate as run

    loaded = settings.load(experiment)
    if plot is not None and not sizes:
        raise InputError("--plot draws the curve of --sizes", remedy="give --sizes")
    if sizes and base:
        raise InputError("--base and --sizes exclude each other")
    with progress_bar(quiet or json) as progress:
        if sizes:
            curves = _curves(loaded, experiment, sizes, draws, plot, samples, settings.cache, progress)
        else:
            ablation = run(
                loaded, cache=settings.cache, base=base or (), samples=samples, seed=loaded.evaluation.seed,
                progress=progress,
            )  # fmt: skip
    if not sizes:
        emit("ablate", to_json(ablation), json, *ablation_tables(ablation))
        return
    alone = {"alone": curves[ALONE].to_json()} if WITH in curves else {}
    content = curves[WITH if alone else ALONE].to_json() | alone
    titles = {name: f", {name}" if alone else "" for name in curves}
    emit("ablate-sizes", content, json, *(curve_table(curves[name], title) for name, title in titles.items()))


def _curves(
    experiment: "Experiment", file: Path, sizes: list[int], draws: int, plot: Path | None,
    samples: int | None, cache: Path, progress: "Progress",
) -> "dict[str, LearningCurve]":  # fmt: skip
    from features.storage.outputs import check_output
    from qe.display.drawing import save
    from qe.training.ablation import learning_curves

    if plot is not None:
        check_output(plot, [file, *experiment.inputs()])
    curves = learning_curves(
        experiment, sizes, cache=cache, draws=draws, samples=samples, seed=experiment.evaluation.seed,
        progress=progress,
    )  # fmt: skip
    if plot is not None:
        from qe.training.ablation import learning_curve_plot

        save(learning_curve_plot(curves, experiment.evaluation.metric), plot)
    return dict(curves)
