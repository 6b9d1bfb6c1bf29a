"""`qe ablate`: what each feature family is worth."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._common import Json, Quiet, progress_bar


def ablate(
    experiment: Annotated[Path, typer.Argument(help="Experiment file with two feature families or more.")],
    data_root: Annotated[
        Path | None, typer.Option(help="Relative paths in the experiment start here.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override a key (repeatable).")] = None,
    base: Annotated[
        list[str] | None, typer.Option(help="Add every other family to this one (repeatable).")
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Resamples of intervals and tests.")] = 1000,
    cache_dir: Annotated[Path | None, typer.Option(help="Cache folder; default ~/.cache/qe.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure every feature family alone and left out, and draw the learning curve.

    One search with all features chooses the parameters; subsets are measured with those, on the same folds.

    Example:

        qe ablate experiments/wmt12/best-own.yaml --data-root ../shared/data --base baseline17
    """
    from qe.ablation import ablate as run
    from qe.ablation import to_json
    from qe.experiment import load
    from qe.resource_cache import default_cache

    loaded = load(experiment, data_root=data_root, overrides=settings or ())
    with progress_bar(quiet or as_json) as progress:
        found = run(
            loaded,
            cache=cache_dir or default_cache(),
            base=base or (),
            samples=samples,
            seed=loaded.evaluation.seed,
            progress=progress,
        )
    if as_json:
        import json

        print(json.dumps(to_json(found), indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("features", "columns", "DeltaAvg", "difference", "p (Holm)", "MAE", "Spearman")
    reference = found.report.baselines[0]
    for name, scores in found.report.systems.items():
        row = [name, str(found.sizes[name]), f"{scores.metrics['delta_avg']:.3f}"]
        if name == reference or not samples:
            row += ["", ""]
        else:
            pair = found.report.comparison(name, reference, "delta_avg")
            row += [f"{pair.result.difference:+.3f}", f"{pair.p_corrected:.4f}"]
        table.add_row(*row, f"{scores.metrics['mae']:.3f}", f"{scores.metrics['spearman']:.3f}")
    console.print(table)
    curve = Table(
        "training rows", "DeltaAvg", "MAE", "Spearman", title="learning curve", title_justify="left"
    )
    for rows, values in found.curve.items():
        curve.add_row(str(rows), *(f"{values[m]:.3f}" for m in ("delta_avg", "mae", "spearman")))
    console.print(curve)
