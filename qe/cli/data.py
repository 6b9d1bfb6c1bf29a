"""`qe data`: check a dataset, explain formats, fetch public data, translate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._application import Application
from qe.cli._common import print_json
from qe.cli._options import Json, Quiet, output_option
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from qe.data.check import DataReport

app = Application()


@app.callback()
def data() -> None:
    """Check, describe and fetch datasets; explain formats; add second translations."""


@app.command()
def check(
    path: Annotated[Path, typer.Argument(help="A dataset, or an experiment file: its dataset is checked.")],
    format_name: Annotated[
        str | None, typer.Option("--format", help="How it lies on disk; guessed if not given.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A key of the format: key=value, key.key=value.")
    ] = None,
    data_root: Annotated[
        Path | None, typer.Option(help="What the paths of an experiment file are relative to.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Validate and describe a dataset.

    It shows labels, judges, lengths, duplicates, overlaps, and every defect.

    Exit code 0: sound; 1: readable, but with defects; 2: unreadable.

    Examples:

        qe data check wmt12-qe

        qe data check mlqe-pe --set pair=en-de --set label=hter

        qe data check scores.tsv --set source_language=en --set target_language=de
        --set label.name=da --set label.higher_is_better=true --set columns.scores=z_mean
    """
    from qe.data.check import check, parse_settings

    options = parse_settings(settings or [])
    if path.suffix in (".yaml", ".yml"):
        from qe.config.experiment import load

        section = load(path, data_root=data_root).dataset
        path, format_name, options = section.path, section.format, {**section.options(), **options}
    report = check(path, format_name, options)
    if as_json:
        print_json("data-check", report.as_json())
    else:
        _print(report)
    for error in report.unreadable:
        typer.echo(f"qe data check: {error}", err=True)
    if report.unreadable or report.defects:
        raise typer.Exit(2 if report.unreadable else 1)


@app.command()
def formats(
    names: Annotated[list[str] | None, typer.Argument(help="Formats; all if none is given.")] = None,
) -> None:
    """Explain the formats of datasets: their keys, and an example of each (Markdown).

    Example:

        qe data formats table
    """
    from qe.data.format import FORMATS
    from qe.data.format_page import page

    typer.echo(page(names or FORMATS.names), nl=False)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="wmt12-qe, mlqe-pe, wmt19-qe to wmt23-qe, or wmt-mqm.")],
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--pair", metavar="PAIR", help="Language pair, such as et-en; repeatable. (default: usual)"
        ),
    ] = None,
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Folder; its name if not given.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="A mirror in place of GitHub's raw files.")] = None,
    quiet: Quiet = False,
) -> None:
    """Download a public dataset.

    Every file is verified by its checksum, and a cut-off download goes on.

    Checksums that nobody has published (all but wmt12-qe and the pairs en-de and ro-en of mlqe-pe) are
    recorded as the files come, in origin.json, beside the terms, which models trained on them tell in their
    cards.

    Data for training and development, no labels of tests: mlqe-pe (also WMT 2020 and 2021: direct
    assessments, post-edits), wmt19-qe and wmt20-qe (HTER, post-edits, tags of words), wmt21-qe (catastrophic
    errors), wmt22-qe (dev alone), wmt23-qe (direct assessments), wmt-mqm (marked errors). Those of 2018 have
    no public address: wmt18-qe says where to get them.

    Examples:

        qe data fetch mlqe-pe --output data/mlqe-pe

        qe data fetch mlqe-pe --pair et-en --pair ne-en --output data/mlqe-pe

        qe data fetch wmt-mqm --pair en-de --output data/wmt-mqm
    """
    from qe.data import public

    folder = output or Path(name)
    with progress_bar(quiet) as progress:
        written, kept = public.fetch(
            name, folder, pairs=pairs or (), base_url=base_url or public.BASE_URL, progress=progress
        )
    if not quiet:
        dataset = public.dataset(name, pairs or ())
        known = all(download.files for download in dataset.downloads)
        checked = "all checksums verified" if known else f"checksums recorded in {folder / public.ORIGIN}"
        typer.echo(f"{folder}: {len(written)} files fetched, {len(kept)} were there; {checked}")
        typer.echo(f"terms: {dataset.terms}")
        read = f"format {dataset.format}" if dataset.format else "its layout is not documented: look first"
        typer.echo(f"next: qe data check {folder} ({read})")


@app.command()
def translate(
    source: Annotated[Path, typer.Option("--input", "-i", help="One segment per line, plain or gzip.")],
    output: Annotated[Path, output_option("--output", "-o", help="Translations, one line per line in.")],
    source_language: Annotated[str, typer.Option(help="Language code of the input, such as en.")],
    target_language: Annotated[str, typer.Option(help="Language code of the output, such as es.")],
    engine: Annotated[str, typer.Option(help="The translation engine: apertium.")] = "apertium",
    quiet: Quiet = False,
) -> None:
    """Translate a file through an engine, for pseudo-references and back-translations.

    Example:

        qe data translate --engine apertium --source-language en --target-language es
        --input source.eng --output pseudo_reference.spa
    """
    from features.storage.outputs import check_output
    from qe.language.engine import engine as engine_of
    from qe.language.programs.translations import translate_file

    check_output(output, [source])
    by = engine_of(engine, source_language, target_language)
    with progress_bar(quiet) as progress:
        lines = translate_file(source, output, by, progress)
    if not quiet:
        typer.echo(f"{output}: {lines} lines by {engine}")


def _print(report: "DataReport") -> None:
    from qe.data.report_tables import counts_text, data_tables, scale_text
    from qe.display.terminal import say, show

    say(f"{report.name} (format {report.format}), label {scale_text(report.label)}")
    show(*data_tables(report))
    say(*(f"overlap: {pair}: {counts_text(shared)}" for pair, shared in report.overlaps.items()))
    say(*(f"note: {note}" for note in report.notes))
    for defect in report.defects:  # whole lines: they name files and places in them
        print(f"defect: {defect}")
    if report.unreadable:
        say(f"{len(report.unreadable)} files or splits could not be read")
    say(f"{len(report.defects)} defects" if report.defects else "no defects")
