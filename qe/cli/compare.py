"""`qe compare`: MT systems over optimizer replications."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from features.core.errors import InputError
from qe.cli._common import Json, Quiet, progress_bar

if TYPE_CHECKING:
    from qe.comparison import Comparison, System
    from qe.mt_metrics._texts import Texts

_LISTS = ("--references", "--system", "--metrics", "--dev", "--dev-references")


class _Lists(TyperCommand):
    """Lets options of a list take several values: `--metrics bleu ter`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, repeated(args))


def repeated(arguments: Iterable[str]) -> list[str]:
    """Writes the option before every value of a list.

    >>> repeated(["--metrics", "bleu", "ter", "--seed", "1"])
    ['--metrics', 'bleu', '--metrics', 'ter', '--seed', '1']
    """
    found: list[str] = []
    current, values = "", 0
    for argument in arguments:
        if argument.startswith("--"):
            current, values = (argument, 0) if argument in _LISTS else ("", 0)
        elif current and not argument.startswith("-"):
            found += [current] if values else []
            values += 1
        found.append(argument)
    return found


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(name="compare", cls=_Lists)
def compare(
    system: Annotated[
        list[str], typer.Option(metavar="NAME=RUN[,RUN...]", help="A system and its runs; repeat it.")
    ],
    references: Annotated[
        list[Path] | None, typer.Option(metavar="REF [REF...]", help="One or several references.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC [METRIC...]",
            help="bleu, ter, chrf, length, nist, token_edit_rate, character_edit_rate, table; with options: "
            "chrf:word_order=2. (default: bleu ter length)",
        ),
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="What to test against. (default: the first)")] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=...",
            help="Its runs on a development set (files), or their scores there by the first metric "
            "(numbers; NAME:METRIC=... for another one).",
        ),
    ] = None,
    dev_references: Annotated[
        list[Path] | None, typer.Option(metavar="REF [REF...]", help="References of the development set.")
    ] = None,
    test: Annotated[
        str, typer.Option(help="ar (approximate randomization), bootstrap, win-ratio, shifted.")
    ] = "ar",
    exchange: Annotated[
        str | None, typer.Option(help="Unit of ar: segment-run, segment, run, any. (default: segment-run)")
    ] = None,
    tail: Annotated[str, typer.Option(help="two-sided, greater, less.")] = "two-sided",
    samples: Annotated[int, typer.Option(help="Shuffles, and virtual test sets of the bootstrap.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of all random draws.")] = 1,
    tokenize: Annotated[
        str, typer.Option(help="none (tokens stand between blanks), 13a, intl, char, moses.")
    ] = "none",
    language: Annotated[str, typer.Option(help="Language of the texts, for moses.")] = "en",
    correct: Annotated[str, typer.Option(help="none, bonferroni, holm, bh.")] = "holm",
    interval: Annotated[str, typer.Option(help="percentile, bca.")] = "percentile",
    group: Annotated[
        Path | None, typer.Option(help="One group (document) per line: groups are resampled whole.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Folder for report, segments, changes, plot.")] = None,
    json: Json = False,
    latex: Annotated[bool, typer.Option("--latex", help="A table for a paper.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="All numbers as CSV.")] = False,
    track: Annotated[bool, typer.Option("--track", help="Log the result to MLflow.")] = False,
    quiet: Quiet = False,
) -> None:
    """Compare MT systems over optimizer replications: scores, instability, p-values, intervals.

    Example: qe compare --references ref.en --system base=b0.en,b1.en,b2.en --system new=n0.en,n1.en,n2.en
    --metrics bleu ter chrf --output comparison
    """
    if json + latex + csv > 1:
        raise InputError("only one of --json, --latex and --csv can be printed")
    from qe.comparison import Settings
    from qe.comparison import compare as run_comparison
    from qe.mt_metrics._options import metric
    from qe.mt_metrics._texts import TOKENIZATIONS

    if tokenize not in TOKENIZATIONS:
        raise InputError(f"unknown tokenization '{tokenize}'", remedy=f"known: {', '.join(TOKENIZATIONS)}")
    settings: Any = {
        "test": test, "exchange": exchange, "samples": samples, "seed": seed, "tail": tail,
        "correct": correct, "interval": interval,
    }  # fmt: skip
    defaults = {"tokenize": tokenize, "language": language}
    chosen = {name: metric(name, defaults) for name in metrics or ["bleu", "ter", "length"]}
    with progress_bar(quiet) as progress:
        comparison = run_comparison(
            _systems(system, dev or [], list(chosen)), [_texts(path) for path in references or []], chosen,
            baseline=baseline, settings=Settings(**settings), progress=progress,
            dev_references=[_texts(path) for path in dev_references or []],
            groups=None if group is None else _texts(group).lines,
        )  # fmt: skip
    if output is not None:
        from qe.comparison_report import write

        write(comparison, output)
    if track:
        _track(comparison)
    _print(comparison, "json" if json else "latex" if latex else "csv" if csv else "")


def _systems(given: list[str], dev: list[str], metrics: list[str]) -> "list[System]":
    from qe.comparison import System

    development = dict(_named(text, "--dev") for text in dev)
    scores: dict[str, dict[str, tuple[float, ...]]] = {}
    outputs: dict[str, tuple[Texts, ...]] = {}
    for name, values in development.items():
        system, _, metric = name.partition(":")
        numbers = _numbers(values)
        if numbers is not None:
            scores.setdefault(system, {})[metric or metrics[0]] = numbers
        else:
            outputs[system] = tuple(_texts(Path(value)) for value in values)
    systems = [
        System(name, tuple(_texts(Path(run)) for run in runs), outputs.get(name, ()), scores.get(name, {}))
        for name, runs in (_named(text, "--system") for text in given)
    ]
    strangers = sorted((outputs.keys() | scores.keys()) - {system.name for system in systems})
    if strangers:
        raise InputError(f"--dev names no system: {', '.join(strangers)}")
    unknown = sorted({metric for by_metric in scores.values() for metric in by_metric} - set(metrics))
    if unknown:
        raise InputError(f"--dev names no metric of --metrics: {', '.join(unknown)}")
    return systems


def _named(text: str, option: str) -> tuple[str, list[str]]:
    name, equals, values = text.partition("=")
    if not name or not equals or not all(values.split(",")):
        raise InputError(f"{option} must be NAME=VALUE[,VALUE...], but got '{text}'")
    return name, values.split(",")


def _numbers(values: list[str]) -> tuple[float, ...] | None:
    try:
        return tuple(float(value) for value in values)
    except ValueError:
        return None


def _texts(path: Path) -> "Texts":
    from features.core.files import read_lines
    from qe.mt_metrics._texts import Texts

    return Texts.of(list(read_lines(path)), str(path))


def _print(comparison: "Comparison", form: str) -> None:
    from qe import comparison_report as report

    if form == "json":
        import json

        print(json.dumps(comparison.to_json(), indent=1))
    elif form:
        print((report.latex_table if form == "latex" else report.csv_table)(comparison), end="")
    else:
        lines = [report.header(comparison), *report.rows(comparison)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = [
                c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
            ]
            print("  ".join(cells).rstrip())
        print("\n" + "\n".join(report.footnotes(comparison)))


def _track(comparison: "Comparison") -> None:
    import re
    import sys
    import tempfile

    from qe import tracking
    from qe.comparison_report import write

    values = {
        re.sub(r"[^\w. /-]", "_", f"{system}.{metric}.{quantity}"): value
        for system, by_metric in comparison.scores.items()
        for metric, score in by_metric.items()
        for quantity, value in score.to_json().items()
        if isinstance(value, float)
    }
    for c in comparison.comparisons:
        name = re.sub(r"[^\w. /-]", "_", f"{c.system}.{c.metric}")
        values |= {f"{name}.difference": c.result.difference, f"{name}.p": c.result.p}
        values[f"{name}.p_corrected"] = c.p_corrected
    with tempfile.TemporaryDirectory() as folder, tracking.run("compare") as run:
        write(comparison, Path(folder))
        run.params(comparison.recipe)
        run.metrics(values)
        run.artifact(Path(folder), "comparison")
    print(f"MLflow run {run.id}", file=sys.stderr)
