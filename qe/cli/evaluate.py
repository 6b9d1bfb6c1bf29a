"""`qe evaluate`: predictions against gold labels."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._common import Json, Quiet, progress_bar

if TYPE_CHECKING:
    from qe.score_files import ScoreFile

_WIDTH = 120  # of tables that go to a file or a pipe

Number = Annotated[float | None, typer.Option(help="Declared label scale; labels outside are errors.")]


class Correction(StrEnum):
    """Corrections for many comparisons."""

    none, bonferroni, holm, bh = "none", "bonferroni", "holm", "bh"


class Test(StrEnum):
    """Significance tests."""

    bootstrap, ar, tukey = "bootstrap", "ar", "tukey"


def evaluate(
    gold: Annotated[Path, typer.Option(help="Gold labels: one per line, a table, or a WMT12 submission.")],
    predictions: Annotated[
        list[str],
        typer.Option(metavar="[NAME=]FILE", help="A system's predictions; repeat for more systems."),
    ],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[[NAME=]FILE]...", help="More systems.")
    ] = None,
    official: Annotated[
        bool, typer.Option("--official", help="Score as the WMT12 scorer did, its rounding included.")
    ] = False,
    baseline: Annotated[
        list[str] | None, typer.Option(help="Compare the others with this system only; may be repeated.")
    ] = None,
    scale_low: Number = None,
    scale_high: Number = None,
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="Labels such as HTER.")] = False,
    column: Annotated[str | None, typer.Option(help="Column of prediction tables.")] = None,
    gold_column: Annotated[str | None, typer.Option(help="Column of a gold table.")] = None,
    group: Annotated[
        Path | None, typer.Option(help="One group (document) per line: resample groups, not segments.")
    ] = None,
    test: Annotated[
        Test, typer.Option(help="Paired bootstrap, approximate randomization, or randomized Tukey HSD.")
    ] = Test.bootstrap,
    samples: Annotated[int, typer.Option(min=0, help="Resamples; 0: no intervals and no tests.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.")] = 0,
    correct: Annotated[Correction, typer.Option(help="Correction for many comparisons.")] = Correction.holm,
    json: Json = False,
    output: Annotated[Path | None, typer.Option(help="Also write the JSON report to this file.")] = None,
    quiet: Quiet = False,
) -> None:
    """Score predictions against gold labels, with intervals and pairwise significance.

    DeltaAvg, Spearman, Pearson, Kendall, MAE, RMSE, shares of large (>= 1) and small (<= 0.1) errors and the
    prediction interval, with 95 % bootstrap intervals. • marks the winners; with one --baseline the table
    groups the systems that beat it, do not differ from it, and lose to it.

    Example: qe evaluate --gold effort.txt --predictions svr=svr.tsv mean=mean.txt --baseline mean
    """
    from features.core.errors import InputError
    from qe.dataset import LabelScale
    from qe.score_files import read_scores, same_segments

    labels = read_scores(gold, gold_column, scale_low, scale_high)
    systems = _systems([*predictions, *(more or [])], column)
    same_segments(labels, systems)
    scale = LabelScale(gold.name, scale_low, scale_high, not lower_is_better)
    if official:
        if baseline or group:
            raise InputError("--official only scores", remedy="leave out --baseline and --group")
        _official(labels, systems, scale.sign, json, output, quiet)
        return
    from qe.evaluation import evaluate as evaluate_systems

    with progress_bar(quiet) as progress:
        report = evaluate_systems(
            labels.scores,
            {name: file.scores for name, file in systems.items()},
            scale,
            baselines=baseline or [],
            samples=samples,
            seed=seed,
            test=test.value,
            correction=correct.value,
            groups=_groups(group),
            progress=progress,
        )
    _emit(report.to_json(), json, output)
    if not (json or quiet):
        _print_tables(report)


def _systems(arguments: list[str], column: str | None) -> "dict[str, ScoreFile]":
    """NAME=FILE, or FILE named by its method or its file name."""
    from features.core.errors import InputError
    from qe.score_files import read_scores

    found: dict[str, ScoreFile] = {}
    for argument in arguments:
        name, equals, rest = argument.partition("=")
        named = bool(equals) and not Path(argument).exists()
        file = read_scores(Path(rest if named else argument), column)
        name = name if named else file.name
        if name in found:
            raise InputError(
                f"two systems are named '{name}' ({found[name].path}, {file.path})", remedy="use NAME=FILE"
            )
        found[name] = file
    return found


def _groups(path: Path | None) -> list[str] | None:
    from features.core.files import read_lines

    return None if path is None else list(read_lines(path))


def _official(
    gold: "ScoreFile",
    systems: "dict[str, ScoreFile]",
    sign: float,
    json: bool,
    output: Path | None,
    quiet: bool,
) -> None:
    from dataclasses import replace

    from qe.official_scorer import official_lines, official_scores

    submissions = {name: replace(file.submission(sign), method=name) for name, file in systems.items()}
    scores = {name: official_scores(gold.submission(sign), given) for name, given in submissions.items()}
    systems_json = {name: found.to_json() for name, found in scores.items()}
    _emit({"systems": systems_json, "comparisons": []}, json, output)
    if not (json or quiet):
        typer.echo("".join(official_lines(submissions[name], scores[name]) for name in scores), nl=False)


def _emit(content: dict[str, object], to_stdout: bool, output: Path | None) -> None:
    import json

    from features.core.files import atomic_file

    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if output is not None:
        with atomic_file(output) as temporary:
            temporary.write_text(text, "utf-8")
    if to_stdout:
        typer.echo(text, nl=False)


def _print_tables(report: object) -> None:
    from rich.console import Console

    from qe.evaluation import Report
    from qe.evaluation_table import notes, report_tables

    assert isinstance(report, Report)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    for table in report_tables(report):
        console.print(table)
    for line in notes(report):
        console.print(line, highlight=False)
