"""Options that several verbs have, each declared once, and the panels of a long help."""

from pathlib import Path
from typing import Annotated, Any

import typer

INPUT, TESTS, OUTPUT = "input", "tests", "output"

MOST_SAMPLES = 1_000_000  # resamples: as qe.statistics.result, which to import would load NumPy
MOST_SEED = 2**32 - 1  # of NumPy's and scikit-learn's generators


def _checked_seed(value: int) -> int:
    from features.basics.errors import InputError

    if not 0 <= value <= MOST_SEED:
        raise InputError(f"--seed must be a whole number from 0 to {MOST_SEED}, but got {value}")
    return value


def seed_option(purpose: str, panel: str | None = None) -> Any:
    """The option --seed, checked before any work."""
    return typer.Option(callback=_checked_seed, metavar="N", help=purpose, rich_help_panel=panel)


# What a verb tells.
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress, only results and errors.", rich_help_panel=OUTPUT),
]
Json = Annotated[
    bool, typer.Option("--json", help="Machine-readable output on stdout.", rich_help_panel=OUTPUT)
]
Markdown = Annotated[bool, typer.Option("--markdown", help="All tables as Markdown.", rich_help_panel=OUTPUT)]
Latex = Annotated[bool, typer.Option("--latex", help="All tables for a paper.", rich_help_panel=OUTPUT)]
Track = Annotated[
    bool, typer.Option("--track", help="Log figures, tables and plots to MLflow.", rich_help_panel=OUTPUT)
]

# Experiments.
DataRoot = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where the experiment's relative paths begin; default: its own folder."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, such as search.trials=5; repeatable."),
]
CacheDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where resources and features are cached; default: ~/.cache/qe."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Start anew over a run that is there.")]

# Models and tables of segments.
Signed = Annotated[
    Path | None,
    typer.Option(
        "--require-signature",
        metavar="PEM",
        help="Load only a model that is signed with this public key.",
        rich_help_panel=INPUT,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=HEADER",
        help="The input's own headers: source=HEADER,target=HEADER.",
        rich_help_panel=INPUT,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|spark",
        help="spark: Apache Spark (pip install 'mtqe[spark]', and Java).",
    ),
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Spark's, such as spark://HOST:7077; default: local[*]."),
]

# Predictions against labels.
Gold = Annotated[
    Path,
    typer.Option(
        metavar="FILE", help="Gold labels: lines, a table, or a WMT12 submission.", rich_help_panel=INPUT
    ),
]
GoldColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of the gold labels.", rich_help_panel=INPUT)
]
Column = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of the predictions.", rich_help_panel=INPUT)
]
LowerIsBetter = Annotated[
    bool, typer.Option("--lower-is-better", help="Labels such as HTER.", rich_help_panel=INPUT)
]

# Tests.
Correct = Annotated[
    str,
    typer.Option(
        metavar="none|bonferroni|holm|bh", help="Correction for many comparisons.", rich_help_panel=TESTS
    ),
]
Family = Annotated[
    str,
    typer.Option(
        metavar="metric|table|all",
        help="Corrected together: pairs by one metric, by all, or everything shown.",
        rich_help_panel=TESTS,
    ),
]
Baseline = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME...", help="Compare the others with these systems only.", rich_help_panel=TESTS
    ),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]FILE...",
        help="A unit (document, judge) per line: units are resampled, not segments. A difference must show "
        "with each of several kinds.",
        rich_help_panel=TESTS,
    ),
]
Margin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC=MARGIN...",
        help="Also test whether systems differ by less than this (equivalence).",
        rich_help_panel=TESTS,
    ),
]
Bucket = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND[=FILE]...",
        help="Also compare within buckets of segments: length[=FILE], rare[=FILE] (words), "
        "quality=FILE[,FILE], document=FILE, NAME=FILE.",
        rich_help_panel=TESTS,
    ),
]
Bands = Annotated[
    int | None,
    typer.Option(min=2, help="Bands of a bucket of numbers. (default: 4)", rich_help_panel=TESTS),
]
Corpus = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --bucket rare: words that it has at most once are rare. (default: the test set)",
        rich_help_panel=TESTS,
    ),
]
