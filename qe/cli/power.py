"""`qe power`: the smallest difference that a test set can detect."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli.shared.options import MAX_SAMPLES, Seed
from qe.cli.shared.printing import emit, group_files, groups, locked_output
from qe.cli.shared.progress import progress_bar

if TYPE_CHECKING:
    from qe.evaluation.power import PowerReport


def power(
    gold: Path,
    predictions: list[str],
    metrics: list[str] | None = None,
    size: Annotated[int | None, typer.Option(min=4)] = None,
    gain: list[str] | None = None,
    power_: float = 0.8,
    level: float = 0.05,
    comparisons: int = 1,
    simulations: Annotated[int, typer.Option(max=MAX_SAMPLES)] = 500,
    samples: Annotated[int | None, typer.Option(max=MAX_SAMPLES)] = None,
    seed: Seed = 0,
    lower_is_better: bool = False,
    column: str | None = None,
    gold_column: str | None = None,
    group: str | None = None,
    output: Path | None = None,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """Simulate which difference a test set can detect, and how many segments a difference needs.

    Virtual test sets are drawn from a pilot, one system is improved by the gain in question, and the
    randomization test of `qe evaluate` is run on each. A gain is always an improvement, for MAE too.

    Example:

        qe power --gold effort.txt --predictions svr=svr.txt ridge=ridge.txt --size 422
        --metrics delta_avg mae --gain delta_avg=0.02 --output power

    input:
      --gold FILE  Gold labels of the pilot: one per line, or a table.
      --predictions [NAME=]FILE...  Predictions of a system and a baseline that are as similar as those to be
          compared.

    tests:
      --metrics METRIC...  {qe.statistics.metrics}. (default: delta_avg spearman mae)
      --size N  Segments (or groups) of the test set. (default: as many as the pilot has)
      --gain METRIC=GAIN...  Also compute how many segments such a gain needs.
      --power P  Probability of detecting the difference.
      --level P  Significance level of the two-sided test.
      --comparisons N  Comparisons that will be corrected together (Holm): each is tested at level / N.
      --simulations N  Virtual test sets per point of a curve.
      --samples N  Permutations in each test. (default: 199; more for many comparisons)
      --group FILE  One document per line: documents are resampled and counted instead of segments.

    output:
      -o, --output DIR  Folder for power.json and power.png.
    """
    import importlib

    from features.basics.assignments import named_file, numbers
    from features.basics.errors import InputError
    from qe.data.score_files import read_predictions, read_scores, same_segments
    from qe.evaluation.power import DEFAULT_METRICS, PowerSettings, power_table
    from qe.evaluation.power import power as find_power
    from qe.statistics.result import check_shares

    if output is not None:
        importlib.import_module("matplotlib")  # fail early if the package is missing
    if len(predictions) != 2:
        raise InputError(
            f"power compares two systems, but --predictions has {len(predictions)}",
            remedy="give a system and a baseline",
        )
    gains = numbers(gain or (), "METRIC=GAIN", "--gain")
    paths = [named_file(text)[1] for text in predictions]
    check_shares(power=power_, level=level)
    exchanges = samples if samples is not None else max(199, 10 * round(comparisons / level) - 1)
    settings = PowerSettings(power_, level, comparisons, simulations, exchanges, seed)
    with locked_output(output, "power", [gold, *paths, *group_files([group] if group else []).values()]):
        labels = read_scores(gold, gold_column)
        files = [read_predictions(path, column) for path in paths]
        same_segments(labels, {text: file for text, file in zip(predictions, files, strict=True)})
        units = groups([group]) if group else None
        sign = -1.0 if lower_is_better else 1.0
        with progress_bar(quiet) as progress:
            report = find_power(
                sign * labels.scores, sign * files[0].scores, sign * files[1].scores,
                metrics=metrics or DEFAULT_METRICS, size=size, gains=gains, settings=settings,
                groups=None if units is None else next(iter(units.values())), progress=progress,
            )  # fmt: skip
        if output is not None:
            _write(report, output)
    emit("power", report, json, power_table(report))


def _write(report: "PowerReport", folder: Path) -> None:
    from qe.display.drawing import save
    from qe.display.files import write_json
    from qe.evaluation.plots import power_plot

    write_json(folder / "power.json", report.to_json())
    save(power_plot(report), folder / "power.png")
