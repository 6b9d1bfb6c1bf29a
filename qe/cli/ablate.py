"""`qe ablate`: measure what feature families are worth; draw learning curves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._common import print_json
from qe.cli._options import (
    MOST_SAMPLES,
    CacheDir,
    DataRoot,
    Json,
    Overrides,
    Quiet,
    output_option,
    test_option,
)
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from qe.config.experiment import Experiment


def ablate(
    experiment: Annotated[Path, typer.Argument(help="Experiment file with two feature families or more.")],
    data_root: DataRoot = None,
    settings: Overrides = None,
    base: Annotated[
        list[str] | None, test_option(help="Add every other family to this one (repeatable).")
    ] = None,
    sizes: Annotated[
        list[int] | None,
        test_option(
            min=20, metavar="ROWS...", help="Only the learning curve, at these numbers of training rows."
        ),
    ] = None,
    draws: Annotated[int, test_option(min=1, max=100, help="Draws of rows for each of --sizes.")] = 3,
    plot: Annotated[
        Path | None, output_option(help="With --sizes: draw the curve into this PNG file.")
    ] = None,
    samples: Annotated[
        int | None,
        test_option(
            min=0,
            max=MOST_SAMPLES,
            help="Resamples; 0: no intervals and no tests. (default: what they need)",
        ),
    ] = None,
    cache_dir: CacheDir = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure every feature family alone and left out, and draw the learning curve.

    One search with all features chooses the parameters; subsets are measured with those, on the same folds.
    With --sizes, families that learn from labels are fitted anew on the rows drawn, and nothing else. An
    experiment with several datasets has two curves: with the others, and without them.

    Examples:

        qe ablate experiments/wmt12/best-own.yaml --data-root ../shared/data --base baseline17

        qe ablate output/demo/demo.yaml --sizes 100 300 900 --plot curve.png
    """
    from features.basics.errors import InputError
    from qe.config.experiment import load
    from qe.display.terminal import show
    from qe.resources.cache import default_cache
    from qe.training.ablation import ablate as run
    from qe.training.ablation import ablation_tables, to_json

    loaded = load(experiment, data_root=data_root, overrides=settings or ())
    if plot is not None and not sizes:
        raise InputError("--plot draws the curve of --sizes", remedy="give --sizes")
    if sizes:
        if base:
            raise InputError("--base and --sizes exclude each other")
        _sizes(loaded, experiment, sizes, draws, plot, samples, cache_dir or default_cache(), quiet, as_json)
        return
    with progress_bar(quiet or as_json) as progress:
        ablation = run(
            loaded,
            cache=cache_dir or default_cache(),
            base=base or (),
            samples=samples,
            seed=loaded.evaluation.seed,
            progress=progress,
        )
    if as_json:
        print_json("ablate", to_json(ablation))
        return
    show(*ablation_tables(ablation))


def _sizes(
    experiment: "Experiment", file: Path, sizes: list[int], draws: int, plot: Path | None,
    samples: int | None, cache: Path, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    from features.storage.outputs import check_output
    from qe.display.drawing import save
    from qe.display.terminal import show
    from qe.training.ablation import ALONE, WITH, curve_table, learning_curves

    if plot is not None:
        check_output(plot, [file, *experiment.inputs()])
    with progress_bar(quiet or as_json) as progress:
        curves = learning_curves(
            experiment,
            sizes,
            cache=cache,
            draws=draws,
            samples=samples,
            seed=experiment.evaluation.seed,
            progress=progress,
        )
    if plot is not None:
        from qe.training.ablation import learning_curve_plot

        save(learning_curve_plot(curves, experiment.evaluation.metric), plot)
    if as_json:
        alone = {"alone": curves[ALONE].to_json()} if WITH in curves else {}
        print_json("ablate-sizes", curves[WITH if alone else ALONE].to_json() | alone)
        return
    show(*(curve_table(curve, f", {name}" if len(curves) > 1 else "") for name, curve in curves.items()))
