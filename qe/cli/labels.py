"""`qe labels`: make labels from post-edits (HTER) or from several judges."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qe.cli._common import print_json
from qe.cli._options import Json, Quiet, input_option, output_option
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping


def labels(
    target: Annotated[Path | None, input_option(help="Translations, one per line, plain or gzip.")] = None,
    post_edit: Annotated[Path | None, input_option(help="Their post-edits, line by line.")] = None,
    target_language: Annotated[
        str | None, input_option(help="ISO 639 code of the translations, such as es.")
    ] = None,
    source: Annotated[Path | None, input_option(help="Sources; only their number is checked.")] = None,
    judges: Annotated[
        Path | None, input_option(help="Instead: scores of several judges, one line per segment.")
    ] = None,
    max_difference: Annotated[
        float, input_option(help="Segments whose judges differ by more get no label.")
    ] = 1.0,
    output: Annotated[
        Path | None,
        output_option("--output", "-o", help="Table per segment: .tsv, .csv, .jsonl or .parquet."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compute HTER and class error rates from post-edits.

    The classes are inflection, reordering, missing, extra and lexical.

    With --judges, one label per segment: the mean of the judges, who weigh 3, 2 and 1 by their standard
    deviations (findings of WMT12, 6.1).

    Examples:

        qe labels --source s.en --target mt.es --post-edit pe.es --target-language es --output labels.tsv

        qe labels --judges effort3scores --output effort.tsv
    """
    from features.storage.outputs import check_apart
    from qe.data.labels import check_output

    given = (source, target, post_edit, judges)
    if output is not None:
        check_output(output)
        check_apart(output, [path for path in given if path is not None])
    if judges is not None:
        _from_judges(judges, max_difference, output, as_json)
        return
    if target is None or post_edit is None or target_language is None:
        from features.basics.errors import InputError

        raise InputError(
            "nothing to make labels from",
            remedy="give --target, --post-edit and --target-language, or --judges",
        )
    corpus = _from_post_edits(source, target, post_edit, target_language, output, quiet)
    if as_json:
        print_json("labels", {"corpus": corpus})
    else:
        _print(corpus, output)


def _from_post_edits(
    source: Path | None,
    target: Path,
    post_edit: Path,
    language: str,
    output: Path | None,
    quiet: bool,
) -> "Mapping[str, Any]":
    from qe.data.labels import from_post_edits, save_table
    from qe.data.reading import Reading, equal_lengths

    given = {"source": source, "target": target, "post_edit": post_edit}
    files = {name: path for name, path in given.items() if path is not None}

    reading = Reading(Path())
    columns = {name: reading.lines(path) for name, path in files.items()}
    equal_lengths(columns)
    with progress_bar(quiet) as progress:
        labels = from_post_edits(columns["target"].texts, columns["post_edit"].texts, language, progress)
    if output is not None:
        save_table(labels.table([str(i) for i in range(1, len(columns["target"]) + 1)]), output)
    return labels.corpus()


def _judged(path: Path, max_difference: float, output: Path | None) -> "Mapping[str, Any]":
    from qe.data.judges import judged_labels
    from qe.data.labels import save_table
    from qe.data.reading import Reading

    reading = Reading(Path())
    judged = judged_labels(reading.matrix(reading.lines(path), "score", None, None), max_difference)
    if output is not None:
        save_table(judged.table(), output)
    return judged.to_json()


def _from_judges(path: Path, max_difference: float, output: Path | None, as_json: bool) -> None:
    from qe.display.numbers import number

    summary = _judged(path, max_difference, output)
    if as_json:
        print_json("labels-judges", {"judges": summary})
        return
    weights = ", ".join(map(number, summary["weights"]))
    typer.echo(f"{summary['segments']} segments, weights of the judges: {weights}")
    typer.echo(
        f"{summary['excluded']} segments without a label: their judges differ by more than {max_difference:g}"
    )
    typer.echo(f"labels: mean {number(summary['mean'], 4)}, standard deviation {number(summary['sd'], 4)}")
    if output is not None:
        typer.echo(f"per segment: {output}")


def _print(corpus: "Mapping[str, Any]", output: Path | None) -> None:
    from qe.data.edit_rates_table import edit_rates_table
    from qe.display.terminal import say, show

    show(edit_rates_table(corpus))
    if output is not None:
        say(f"per segment: {output}")
