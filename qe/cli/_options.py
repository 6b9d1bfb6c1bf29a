"""Options that several verbs have, each declared once, and the panels of a long help."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from qe.data.table_rows import Layout

INPUT, TESTS, OUTPUT = "input", "tests", "output"
input_option = partial(typer.Option, rich_help_panel=INPUT)
test_option = partial(typer.Option, rich_help_panel=TESTS)
output_option = partial(typer.Option, rich_help_panel=OUTPUT)
run_option = partial(typer.Option, rich_help_panel="running")

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
    output_option("--quiet", "-q", help="No progress, only results and errors."),
]
Json = Annotated[bool, output_option("--json", help="Machine-readable output on stdout.")]
Markdown = Annotated[bool, output_option("--markdown", help="All tables as Markdown.")]
Latex = Annotated[bool, output_option("--latex", help="All tables for a paper.")]
Track = Annotated[bool, output_option("--track", help="Log figures, tables and plots to MLflow.")]

# Experiments.
DataRoot = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder that the experiment's relative paths begin at; default: its own."
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, such as search.trials=5; repeatable."),
]
CacheDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder for cached resources and features; default: ~/.cache/qe."),
]
Replace = Annotated[bool, output_option("--overwrite", help="Replace outputs that are there.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Start anew over a run that is there.")]

# How a table lies on disk; what is not said is seen in the file.
_table_option = partial(typer.Option, rich_help_panel="how a table is written, where it does not show")
Delimiter = Annotated[
    str | None,
    _table_option(metavar="CHAR", help="Tab, comma, semicolon, pipe, or a character."),
]
Quoting = Annotated[
    bool | None, _table_option("--quoting/--no-quoting", help="Whether double quotes delimit fields.")
]
Encoding = Annotated[str | None, _table_option(metavar="NAME", help="Such as cp1252.")]
Decimal = Annotated[str | None, _table_option(metavar=".|,", help="The decimal sign of numbers.")]
SheetName = Annotated[
    str,
    _table_option("--sheet", metavar="NAME", help="Sheet of an XLSX. (default: the first shown)"),
]
HeaderRow = Annotated[int, _table_option(min=1, metavar="N", help="Row of headers of an XLSX.")]
Languages = Annotated[
    list[str] | None,
    _table_option(metavar="SIDE=TAG", help="Tags in XLIFF and TMX: source=TAG,target=TAG."),
]


def table_layout(
    delimiter: str | None = None,
    quoting: bool | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    *,
    sheet: str = "",
    header_row: int = 1,
    kind: str | None = None,
    languages: list[str] | None = None,
) -> "Layout":
    """What the options say of a table. Raises InputError for what no table can have."""
    from qe.data.delimited import CsvOptions
    from qe.data.table_rows import Layout
    from qe.data.translation_files.opened import Asked, Where
    from qe.scoring.naming import name_pairs

    known_as = name_pairs(languages or (), "--languages", "SIDE", "TAG")
    asked = Asked(known_as, Where(sheet, header_row))
    layout = Layout(kind, CsvOptions(delimiter, quoting, encoding), decimal, asked)
    layout.check()
    return layout


# Models and tables of segments.
Signed = Annotated[
    Path | None,
    input_option(
        "--require-signature", metavar="PEM", help="Load only a model that is signed with this public key."
    ),
]
Columns = Annotated[
    list[str] | None,
    input_option(metavar="NAME=HEADER", help="The input's own headers: source=HEADER,target=HEADER."),
]
Engine = Annotated[
    str,
    run_option(
        "--engine",
        metavar="local|spark",
        help="spark: Apache Spark (pip install 'mtqe[spark]', and Java).",
    ),
]
Master = Annotated[
    str | None,
    run_option("--master", metavar="URL", help="Spark's, such as spark://HOST:7077; default: local[*]."),
]

# Predictions against labels.
Gold = Annotated[
    Path,
    input_option(metavar="FILE", help="Gold labels: lines, a table, or a WMT12 submission."),
]
GoldColumn = Annotated[str | None, input_option(metavar="NAME", help="Column of the gold labels.")]
Column = Annotated[str | None, input_option(metavar="NAME", help="Column of the predictions.")]
LowerIsBetter = Annotated[bool, input_option("--lower-is-better", help="Labels such as HTER.")]

# Tests.
Correct = Annotated[
    str,
    test_option(metavar="none|bonferroni|holm|bh", help="Correction for many comparisons."),
]
Family = Annotated[
    str,
    test_option(
        metavar="metric|table|all",
        help="Corrected together: pairs by one metric, by all, or everything shown.",
    ),
]
Baseline = Annotated[
    list[str] | None,
    test_option(metavar="NAME...", help="Compare the others with these systems only."),
]
Resamples = Annotated[
    int | None,
    test_option(
        min=0,
        max=MOST_SAMPLES,
        help="Resamples; 0: no intervals, no tests. (default: what the comparisons need)",
    ),
]
Group = Annotated[
    list[str] | None,
    test_option(
        metavar="[NAME=]FILE...",
        help="A unit (document, judge) per line: units are resampled, not segments. A difference must show "
        "with each of several kinds.",
    ),
]
Margin = Annotated[
    list[str] | None,
    test_option(
        metavar="METRIC=MARGIN...", help="Also test whether systems differ by less than this (equivalence)."
    ),
]
Bucket = Annotated[
    list[str] | None,
    test_option(
        metavar="KIND[=FILE]...",
        help="Also compare within buckets of segments: length[=FILE], rare[=FILE] (words), "
        "quality=FILE[,FILE], document=FILE, NAME=FILE.",
    ),
]
Bands = Annotated[
    int | None,
    test_option(min=2, help="Bands of a bucket of numbers. (default: 4)"),
]
Corpus = Annotated[
    Path | None,
    test_option(
        metavar="FILE",
        help="With --bucket rare: words that it has at most once are rare. (default: the test set)",
    ),
]
