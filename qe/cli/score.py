"""`qe score`: score new translations with a trained model."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from qe.cli._options import (
    Columns,
    Decimal,
    Delimiter,
    Encoding,
    Engine,
    HeaderRow,
    Json,
    Languages,
    Master,
    Quiet,
    Quoting,
    SheetName,
    Signed,
    input_option,
    output_option,
    run_option,
)

_column_option = partial(typer.Option, rich_help_panel="columns added")


def score(
    input_: Annotated[
        list[str],
        input_option(
            "--input",
            "-i",
            metavar="FILE",
            help="Table, XLIFF, TMX, XLSX; folder or pattern of tables; - (stdin); or twice: source and "
            "target.",
        ),
    ],
    output: Annotated[
        str,
        output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="TSV, CSV or JSONL (.gz and .zst too), Parquet, or the input's kind; - for stdout.",
        ),
    ],
    model: Annotated[
        str | None,
        input_option("--model", "-m", metavar="MODEL", help="Model folder, or models:/NAME@champion."),
    ] = None,
    models: Annotated[
        Path | None,
        input_option(metavar="ROUTES", help="YAML: columns of a row choose its model."),
    ] = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: SheetName = "",
    header_row: HeaderRow = 1,
    languages: Languages = None,
    interval: Annotated[
        float | None,
        _column_option(metavar="SHARE", help="low, high: hold this share of true labels (0.9)."),
    ] = None,
    explain: Annotated[
        int,
        _column_option(min=0, help="because: so many causes that moved the score most (Shapley values)."),
    ] = 0,
    triage: Annotated[
        Path | None,
        _column_option(
            metavar="FILE",
            help="action: the cheapest by a cost table (.yaml), or what `qe triage --json` found (.json).",
        ),
    ] = None,
    tokens: Annotated[
        bool, _column_option("--tokens", help="tokens, bad, gaps, ...: which words are wrong.")
    ] = False,
    tags: Annotated[
        str | None,
        _column_option(
            metavar="f1_mult|mcc",
            help="With --tokens: the metric whose best thresholds make tags. (default: f1_mult)",
        ),
    ] = None,
    flags: Annotated[
        bool,
        _column_option(
            "--flags",
            help="flags: numbers, names or negations that one side lacks, untranslated and invented words, "
            "odd lengths.",
        ),
    ] = False,
    outside: Annotated[
        bool,
        _column_option(
            "--outside",
            help="outside, unlike: how unlike the training data, why.",
        ),
    ] = False,
    documents: Annotated[
        Path | None,
        output_option(metavar="FILE", help="Mean scores of documents (TSV, ...)."),
    ] = None,
    doc_ids: Annotated[
        str | None,
        input_option(
            "--doc-ids",
            metavar="NAME|FILE",
            help="Ids for --documents: a column, or a file.",
        ),
    ] = None,
    with_model: Annotated[
        bool,
        _column_option("--with-model", help="model: its name, version and fingerprint."),
    ] = False,
    known: Annotated[
        Path | None,
        input_option(
            metavar="PREVIOUS",
            help="Rows that this model has scored keep their score.",
        ),
    ] = None,
    resume: Annotated[bool, run_option("--resume", help="Go on with a job that was stopped.")] = False,
    overwrite: Annotated[
        bool, run_option("--overwrite", help="Replace an output or an unfinished job.")
    ] = False,
    cache: Annotated[
        bool, run_option("--cache/--no-cache", help="Score repeated segments once: the same scores.")
    ] = True,
    workers: Annotated[
        int | None, run_option(min=1, max=1024, help="Processes. (default: one for each core)")
    ] = None,
    chunk: Annotated[int, run_option(min=1, help="Rows between points to resume.")] = 5000,
    engine: Engine = "local",
    master: Master = None,
    keep: Annotated[
        bool, output_option("--keep", help="Keep all columns of the input, before those added.")
    ] = False,
    suffix: Annotated[str, output_option(help="Ending of added names, such as _qe.")] = "",
    safe_cells: Annotated[
        bool,
        output_option("--safe-cells", help="Apostrophes make formulas text in TSV and CSV."),
    ] = False,
    drift: Annotated[
        Path | None,
        output_option(metavar="FILE", help="How the input differs from the training data (JSON)."),
    ] = None,
    summary: Annotated[
        Path | None,
        output_option(
            metavar="FILE",
            help="Model, counts, times, ... (default: OUTPUT.json)",
        ),
    ] = None,
    no_summary: Annotated[bool, output_option("--no-summary", help="Write no summary.")] = False,
    fail_if: Annotated[
        list[str] | None,
        run_option(
            "--fail-if", metavar="CONDITION", help="Exit code 1 if 'unscored>1%', 'unscored>9' or drift."
        ),
    ] = None,
    require_signature: Signed = None,
    log_form: Annotated[
        str | None,
        run_option(
            "--log",
            metavar="text|json",
            help="json: stderr is lines of JSON, one a stage.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Score new translations: one row out (id, score, reason) for every row in, in order.

    The input has columns `source` and `target`, and may have `id`. A row that cannot be scored has a reason
    instead of a score. An input that departs from the training data is warned of on stderr.

    With --tokens, `tokens` are the words of the translation, `bad` the probability that each is wrong, `gaps`
    that words are missing before each and after the last; with models that learned them `tags`, `gap_tags`,
    `spans` of BAD words, and the same of the source (docs/word-level.md).

    XLIFF and TMX are scored into the same file with a note at every segment, XLSX into one with more columns;
    or into a table (docs/scoring.md).

    Exit code 0: done; 1: done, but no row was scored, or a condition of --fail-if holds; 2: bad input.

    On Spark the input is any address that Spark reads and the output a folder of parts, with the same rows to
    the last bit (docs/scale.md).

    Examples:

        qe score --model output/demo/model --input output/demo/data/new.tsv --output scores.tsv

        qe score --model output/demo/model -i mt.csv --columns source=src,target=mt --keep -o scored.csv

        qe score --model output/demo/model --input new.tsv --output scores.tsv --triage costs.yaml --flags

        qe score --model output/mlqe/model --input new.tsv --output scores.jsonl --tokens --tags mcc

        qe score --model output/demo/model --input project.xlf --output project.scored.xlf
    """
    options = dict(locals())
    from qe.cli._score_job import ScoreJob

    ScoreJob(**options).run()
