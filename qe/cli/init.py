"""`qe init`: write a first experiment for your own table, commented."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._common import print_json
from qe.cli._options import (
    Decimal,
    Delimiter,
    Encoding,
    HeaderRow,
    Json,
    Quiet,
    Quoting,
    SheetName,
    input_option,
    output_option,
    table_layout,
)
from qe.display.numbers import span

if TYPE_CHECKING:
    from qe.getting_started.init.experiment import Beginning


def _usual(data: Path) -> Path:
    return Path(f"{data.name.removesuffix('.gz').rpartition('.')[0] or data.name}.yaml")


def _place(ctx: typer.Context, given: Path | None) -> Path | None:
    data = ctx.params.get("data")
    return given if given is not None or data is None else _usual(data)


def init(
    data: Annotated[Path, typer.Argument(help="Labelled segments: a table, or XLSX, XLIFF or TMX.")],
    source_language: Annotated[
        str | None, input_option(help="ISO 639 code of the sources, such as en.")
    ] = None,
    target_language: Annotated[
        str | None, input_option(help="ISO 639 code of the translations, such as de.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        input_option(
            "--columns",
            help="Headers that are not recognised: scores=z_mean,target=mt; `id=` leaves the ids out.",
        ),
    ] = None,
    higher_is_better: Annotated[
        bool | None,
        input_option(
            "--higher-is-better/--lower-is-better",
            help="The direction of the score, unless its header says it.",
        ),
    ] = None,
    parallel: Annotated[
        tuple[Path, Path] | None,
        input_option(
            "--parallel", help="Parallel text, SOURCE TARGET: one sentence per line, plain or gzip."
        ),
    ] = None,
    own_corpus: Annotated[
        bool,
        input_option(
            "--own-corpus", help="Without parallel text: a third of the rows is the corpus instead."
        ),
    ] = False,
    name: Annotated[
        str | None,
        output_option(help="Name of the experiment and its model; default: the experiment file's."),
    ] = None,
    output: Annotated[
        Path | None,
        output_option(
            "--output", "-o", callback=_place, help="The experiment file; default: the data's name, .yaml."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        input_option(help="tsv, csv, jsonl, parquet, xlsx, xliff or tmx; default: by the file's name."),
    ] = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: SheetName = "",
    header_row: HeaderRow = 1,
    overwrite: Annotated[
        bool, output_option("--overwrite", help="Replace an experiment that is there.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a first experiment for a table of labelled translations: it trains as it stands.

    The usual headers are recognised (source, src, original; target, mt, translation; score, z_mean, hter;
    post_edit, pe; doc_id). What is in doubt is asked for, never guessed.

    Examples:

        qe init data.tsv --source-language en --target-language de --higher-is-better

        qe init data.csv --source-language en --target-language de --columns scores=z_mean
        --parallel train.en.gz train.de.gz --output mine.yaml
    """
    from features.basics.errors import InputError
    from qe.getting_started.init.columns import parse_columns
    from qe.getting_started.init.experiment import begin
    from qe.getting_started.init.table import Wishes

    if source_language is None or target_language is None:
        raise InputError(
            "the languages of the data are not known",
            remedy="give --source-language and --target-language, codes of ISO 639 such as en and de",
        )
    wishes = Wishes(
        languages=(source_language, target_language),
        columns=parse_columns(columns or ()),
        higher_is_better=higher_is_better,
        layout=table_layout(
            delimiter, quoting, encoding, decimal, sheet=sheet, header_row=header_row, kind=kind
        ),
    )
    location = output or _usual(data)
    made = begin(
        data, wishes, location, name=name, parallel=parallel, own_corpus=own_corpus, overwrite=overwrite
    )
    if as_json:
        print_json("init", made.to_json())
    elif not quiet:
        _print(made)


def _print(made: "Beginning") -> None:
    what = made.to_json()
    columns = ", ".join(f"{role} = {header}" for role, header in what["columns"].items())
    direction = "higher is better" if what["label"]["higher_is_better"] else "lower is better"
    low, high = what["labels"].values()
    typer.echo(f"{made.path}: {what['segments']:,} segments; columns: {columns}")
    typer.echo(f"label {what['label']['name']}, {span(low, high, 6)} here, {direction}")
    for note in what["notes"]:
        typer.echo(f"note: {note}")
    typer.echo(f"next: look at `label` in {made.path}, then qe train {made.path}")
    for step in what["steps"]:
        typer.echo(f"a step up: {step}")
