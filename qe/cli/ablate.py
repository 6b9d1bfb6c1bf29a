"""`qe ablate`: what each feature family is worth; learning curves."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._common import MOST_SAMPLES, Json, Quiet, progress_bar


def ablate(
    experiment: Annotated[Path, typer.Argument(help="Experiment file with two feature families or more.")],
    data_root: Annotated[
        Path | None, typer.Option(help="Relative paths in the experiment start here.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override a key (repeatable).")] = None,
    base: Annotated[
        list[str] | None, typer.Option(help="Add every other family to this one (repeatable).")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MOST_SAMPLES,
            help="Resamples; 0: no intervals and no tests. (default: what they need)",
        ),
    ] = None,
    cache_dir: Annotated[Path | None, typer.Option(help="Cache folder; default ~/.cache/qe.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure every feature family alone and left out, and draw the learning curve.

    One search with all features chooses the parameters; subsets are measured with those, on the same folds.

    Example:

        qe ablate experiments/wmt12/best-own.yaml --data-root ../shared/data --base baseline17
    """
    from qe.bundles.cache import default_cache
    from qe.config.experiment import load
    from qe.evaluation.table import p_cell
    from qe.training.ablation import ablate as run
    from qe.training.ablation import to_json

    loaded = load(experiment, data_root=data_root, overrides=settings or ())
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
        import json

        print(json.dumps(to_json(ablation), indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("features", "columns", "DeltaAvg", "difference", "p (Holm)", "MAE", "Spearman")
    reference = ablation.report.baselines[0]
    for name, scores in ablation.report.systems.items():
        row = [name, str(ablation.sizes[name]), f"{scores.metrics['delta_avg']:.3f}"]
        if name == reference or samples == 0:
            row += ["", ""]
        else:
            pair = ablation.report.comparison(name, reference, "delta_avg")
            row += [f"{pair.result.difference:+.3f}", p_cell(pair)]
        table.add_row(*row, f"{scores.metrics['mae']:.3f}", f"{scores.metrics['spearman']:.3f}")
    console.print(table)
    curve = Table(
        "training rows", "DeltaAvg", "MAE", "Spearman", title="learning curve", title_justify="left"
    )
    for rows, values in ablation.curve.items():
        curve.add_row(str(rows), *(f"{values[m]:.3f}" for m in ("delta_avg", "mae", "spearman")))
    console.print(curve)
