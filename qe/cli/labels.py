"""`qe labels`: HTER and class error rates from post-edits."""

import json
from pathlib import Path
from typing import Annotated

import typer

from qe.cli._common import Json, Quiet, progress_bar


def labels(
    target: Annotated[Path, typer.Option(help="Translations, one per line, plain or gzip.")],
    post_edit: Annotated[Path, typer.Option(help="Their post-edits, line by line.")],
    target_language: Annotated[str, typer.Option(help="ISO 639 code of the translations, such as es.")],
    source: Annotated[Path | None, typer.Option(help="Sources; only their number is checked.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table per segment: .tsv, .csv, .jsonl or .parquet."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """HTER and class error rates (inflection, reordering, missing, extra, lexical) from post-edits.

    Example: qe labels --source s.en --target mt.es --post-edit pe.es --target-language es --output labels.tsv
    """
    from qe.formats._reading import Reading, equal_lengths
    from qe.labels import check_output, from_post_edits, save_table

    if output is not None:
        check_output(output)
    reading = Reading(Path())
    files = {"source": source, "target": target, "post_edit": post_edit}
    columns = {name: reading.lines(path) for name, path in files.items() if path is not None}
    equal_lengths(columns)
    with progress_bar(quiet) as progress:
        found = from_post_edits(
            columns["target"].texts, columns["post_edit"].texts, target_language, progress
        )
    if output is not None:
        save_table(found.table([str(i) for i in range(1, len(columns["target"]) + 1)]), output)
    corpus = found.corpus()
    if as_json:
        typer.echo(json.dumps({"corpus": corpus}, indent=1))
    else:
        _print(corpus, output)


def _print(corpus: dict[str, dict[str, float | None]], output: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{corpus['segments']} segments, HTER {_percent(corpus['hter'])}")  # type: ignore[arg-type]
    for heading in ("class", "words", "rate", "blocks", "block rate"):
        table.add_column(heading, justify="left" if heading == "class" else "right")
    for name in corpus["counts"]:
        table.add_row(
            name,
            str(corpus["counts"][name]),
            _percent(corpus["rates"][name]),
            str(corpus["blocks"][name]),
            _percent(corpus["block_rates"][name]),
        )
    for name, value in corpus["sums"].items():
        table.add_row(name, "", _percent(value), "", "")
    console = Console()
    console.print(table)
    if output is not None:
        console.print(f"per segment: {output}")


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.2f} %"
