"""`qe power`: tell what difference a test set of some size can show."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qe.cli._common import group_files, groups, held, print_json
from qe.cli._options import (
    MOST_SAMPLES,
    TESTS,
    Column,
    GoldColumn,
    Json,
    LowerIsBetter,
    Quiet,
    input_option,
    output_option,
    seed_option,
    test_option,
)
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from qe.evaluation.power import PowerReport


def power(
    gold: Annotated[Path, input_option(help="Gold labels of the pilot: one per line, or a table.")],
    predictions: Annotated[
        list[str],
        input_option(
            metavar="[NAME=]FILE...",
            help="Predictions of a system and of a baseline that are as much alike as those to be compared.",
        ),
    ],
    metrics: Annotated[
        list[str] | None,
        test_option(
            metavar="METRIC...",
            help="{qe.statistics.metrics}. (default: delta_avg spearman mae)",
        ),
    ] = None,
    size: Annotated[
        int | None,
        test_option(min=4, help="Segments (groups) of the test set. (default: those of the pilot)"),
    ] = None,
    gain: Annotated[
        list[str] | None,
        test_option(metavar="METRIC=GAIN...", help="Also tell how many segments such a gain needs."),
    ] = None,
    target: Annotated[float, test_option("--power", help="Probability of finding the difference.")] = 0.8,
    level: Annotated[float, test_option(help="Level of the two-sided test.")] = 0.05,
    comparisons: Annotated[
        int, test_option(help="Comparisons that will be corrected together (Holm): each needs level / them.")
    ] = 1,
    simulations: Annotated[
        int, test_option(max=MOST_SAMPLES, help="Virtual test sets per point of a curve.")
    ] = 500,
    samples: Annotated[
        int | None,
        test_option(max=MOST_SAMPLES, help="Exchanges in the test of each. (default: 199; more for many)"),
    ] = None,
    seed: Annotated[int, seed_option("Seed of all random draws.", TESTS)] = 0,
    lower_is_better: LowerIsBetter = False,
    column: Column = None,
    gold_column: GoldColumn = None,
    group: Annotated[
        str | None,
        test_option(metavar="FILE", help="One document per line: documents are the units, and are counted."),
    ] = None,
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Folder for power.json and power.png.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate what difference a test set can show, and how many segments a difference needs.

    Virtual test sets are drawn from a pilot, the system is made better by the gain in question, and the
    randomization test of `qe evaluate` is run on each. A gain is an improvement, of MAE as well.

    Example:

        qe power --gold effort.txt --predictions svr=svr.txt ridge=ridge.txt --size 422
        --metrics delta_avg mae --gain delta_avg=0.02 --output power
    """
    import importlib

    from features.basics.assignments import named_file, numbers
    from features.basics.errors import InputError
    from qe.data.score_files import read_scores, same_segments
    from qe.display.terminal import show
    from qe.evaluation.power import DEFAULT_METRICS, PowerSettings, check_shares
    from qe.evaluation.power import power as find_power
    from qe.evaluation.power_table import power_table

    if output is not None:
        importlib.import_module("matplotlib")  # a package that is missing is told before any work
    if len(predictions) != 2:
        raise InputError(
            f"power is about two systems, but --predictions has {len(predictions)}",
            remedy="give a system and a baseline",
        )
    gains = numbers(gain or (), "METRIC=GAIN", "--gain")
    paths = [named_file(text)[1] for text in predictions]
    check_shares(power=target, level=level)
    exchanges = samples if samples is not None else max(199, 10 * round(comparisons / level) - 1)
    settings = PowerSettings(target, level, comparisons, simulations, exchanges, seed)
    with held(output, "power", [gold, *paths, *group_files([group] if group else []).values()]):
        labels = read_scores(gold, gold_column)
        files = [read_scores(path, column) for path in paths]
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
    if json:
        print_json("power", report.to_json())
    else:
        show(power_table(report))


def _write(report: "PowerReport", folder: Path) -> None:
    from qe.display.drawing import save
    from qe.display.files import write_json
    from qe.evaluation.power_plot import power_plot

    write_json(folder / "power.json", report.to_json())
    save(power_plot(report), folder / "power.png")
