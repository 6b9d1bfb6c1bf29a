"""`qe data`: check a dataset, explain formats, fetch public data, translate."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qe.cli._application import Application
from qe.cli._common import progress_bar
from qe.cli._options import Json, Quiet, output_option

if TYPE_CHECKING:
    from rich.console import Console

    from qe.data.check import DataReport, Judges, SplitReport

app = Application()


@app.callback()
def data() -> None:
    """Check and describe datasets, explain their formats, fetch public ones, make second translations."""


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
    """Validate and describe a dataset: labels, judges, lengths, duplicates, overlaps, every defect.

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
        typer.echo(json.dumps(report.as_json(), indent=1, ensure_ascii=False))
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
    name: Annotated[str, typer.Argument(help="wmt12-qe or mlqe-pe.")],
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Folder; its name if not given.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="A mirror in place of GitHub's raw files.")] = None,
    quiet: Quiet = False,
) -> None:
    """Download a public dataset; every file is verified by its checksum, and a cut-off download goes on.

    Example:

        qe data fetch mlqe-pe --output data/mlqe-pe
    """
    from qe.data import public

    folder = output or Path(name)
    with progress_bar(quiet) as progress:
        written, kept = public.fetch(name, folder, base_url=base_url or public.BASE_URL, progress=progress)
    if not quiet:
        dataset = public.dataset(name)
        typer.echo(f"{folder}: {len(written)} files fetched, {len(kept)} were there; all checksums verified")
        typer.echo(f"terms: {dataset.terms}")
        typer.echo(f"next: qe data check {folder} (format {dataset.format})")


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
    from rich.console import Console

    console = Console(highlight=False)
    direction = "higher is better" if report.label.higher_is_better else "lower is better"
    low, high = (
        ("open" if bound is None else f"{bound:g}") for bound in (report.label.low, report.label.high)
    )
    console.print(
        f"{report.name} (format {report.format}), label {report.label.name} {low} .. {high}, {direction}",
        markup=False,
    )
    if report.splits:
        _print_splits(console, report.splits)
    for name, split in report.splits.items():
        if split.histogram is not None:
            _print_histogram(console, name, split)
        if split.judges is not None:
            _print_judges(console, name, split.judges)
    for pair, shared in report.overlaps.items():
        console.print(f"overlap: {pair}: {_counts(shared)}", markup=False)
    for note in report.notes:
        console.print(f"note: {note}", markup=False)
    for defect in report.defects:
        console.print(f"defect: {defect}", markup=False, soft_wrap=True)
    if report.unreadable:
        console.print(f"{len(report.unreadable)} files or splits could not be read")
    console.print(f"{len(report.defects)} defects" if report.defects else "no defects")


def _print_splits(console: "Console", splits: Mapping[str, "SplitReport"]) -> None:
    from rich.table import Table

    table = Table("", *splits)
    rows: dict[str, list[str]] = {
        "segments": [str(s.segments) for s in splits.values()],
        "labels": [_summary(s.labels) if s.labels else "blind" for s in splits.values()],
    }
    for name in next(iter(splits.values())).lengths:
        rows[name] = [_summary(s.lengths[name]) for s in splits.values()]
    rows["repeated"] = [_counts(s.duplicates) for s in splits.values()]
    if any(s.documents is not None for s in splits.values()):
        rows["documents"] = ["" if s.documents is None else str(s.documents) for s in splits.values()]
    if any(s.unedited is not None for s in splits.values()):
        rows["unedited"] = ["" if s.unedited is None else str(s.unedited) for s in splits.values()]
    rows["columns"] = [", ".join(s.columns) for s in splits.values()]
    for name, cells in rows.items():
        table.add_row(name, *cells)
    console.print(table)


def _print_histogram(console: "Console", name: str, split: "SplitReport") -> None:
    from rich.table import Table

    assert split.histogram is not None
    edges, counts = split.histogram
    console.print(f"labels of {name}")
    table = Table("from", "to", "segments", "")
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        table.add_row(f"{low:.3g}", f"{high:.3g}", str(count), "█" * round(30 * count / max(counts)))
    console.print(table)


def _print_judges(console: "Console", name: str, judges: "Judges") -> None:
    from rich.table import Table

    numbers = [str(i) for i in range(1, len(judges.summaries) + 1)]
    console.print(f"judges of {name}: Pearson above the diagonal, quadratic kappa below")
    table = Table("", "n", "mean", "sd", *numbers)
    for i, summary in enumerate(judges.summaries):
        agreement = [
            "" if i == j else _number((judges.pearson if i < j else judges.kappa)[i][j], 2)
            for j in range(len(numbers))
        ]
        table.add_row(
            numbers[i], str(summary.n), _number(summary.mean, 2), _number(summary.sd, 2), *agreement
        )
    console.print(table)
    console.print(f"agreement of all judges of {name}: {_agreement(judges.alpha)}", markup=False)
    if judges.weights is not None:
        weights = ", ".join(f"{weight:.3f}" for weight in judges.weights)
        console.print(
            f"judges of {name}, weighted by standard deviation: {weights}; they differ by more than 1 on "
            f"{judges.far_apart} segments",
            markup=False,
        )
    if judges.deviation is not None:
        console.print(f"labels and the mean of the judges of {name} differ by at most {judges.deviation:.3g}")


def _agreement(alpha: "Mapping[str, float | None]") -> str:
    return ", ".join(f"Krippendorff's alpha ({level}) {_number(a, 3)}" for level, a in alpha.items())


def _summary(summary: Any) -> str:
    if summary.mean is None:
        return "none"
    spread = f"{summary.low:.4g} .. {summary.median:.4g} .. {summary.high:.4g}"
    return f"mean {summary.mean:.4g}, sd {summary.sd:.3g}, {spread}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}s" for name, count in counts.items())
