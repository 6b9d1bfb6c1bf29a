"""`qe labels`: make labels from post-edits (HTER) or from several annotators."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from qe.cli.shared.printing import emit
from qe.cli.shared.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping


def labels(
    target: Path | None = None,
    post_edit: Path | None = None,
    target_language: str | None = None,
    source: Path | None = None,
    judges: Path | None = None,
    max_difference: float = 1.0,
    output: Path | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Compute HTER and error rates by class from post-edits.

    The classes are inflection, reordering, missing, extra and lexical.

    With --judges, one label per segment: the mean of the annotators, weighted 3, 2 and 1 by their standard
    deviations (findings of WMT12, 6.1).

    Examples:

        qe labels --source s.en --target mt.es --post-edit pe.es --target-language es --output labels.tsv

        qe labels --judges effort3scores --output effort.tsv

    input:
      --target FILE  Translations, one per line, plain or gzip.
      --post-edit FILE  Their post-edits, line by line.
      --source FILE  Sources; only their number is checked.
      --judges FILE  Instead of post-edits: scores of several annotators, one line per segment.
      --max-difference X  With --judges: segments whose annotators differ by more get no label.

    output:
      -o, --output FILE  Table with one row per segment: .tsv, .csv, .jsonl or .parquet.
    """
    from features.basics.errors import InputError
    from features.text.languages import language_code
    from features.text.stems import has_base_forms
    from qe.data.labels import check_output
    from qe.data.report_tables import edit_rates_table

    if output is not None:
        check_output(output)
    location = [] if output is None else [f"per segment: {output}"]
    if judges is not None:
        _from_judges(judges, max_difference, output, json, location)
        return
    if target is None or post_edit is None or target_language is None:
        raise InputError(
            "nothing to make labels from",
            remedy="give --target, --post-edit and --target-language, or --judges",
        )
    files = {"source": source, "target": target, "post_edit": post_edit}
    language = language_code(target_language)
    corpus = _from_post_edits(files, language, output, quiet)
    note = f"no base forms for the language '{language}': classes of errors but reordering are undefined"
    notes = [] if has_base_forms(language) else [note]
    emit("labels", {"corpus": corpus}, json, edit_rates_table(corpus), *notes, *location)


def _from_post_edits(
    files: "Mapping[str, Path | None]", language: str, output: Path | None, quiet: bool
) -> "Mapping[str, Any]":
    from qe.data.labels import from_post_edits, save_table
    from qe.data.reading import Reading, equal_lengths

    reading = Reading(Path())
    columns = {name: reading.lines(path) for name, path in files.items() if path is not None}
    equal_lengths(columns)
    with progress_bar(quiet) as progress:
        labels = from_post_edits(columns["target"].texts, columns["post_edit"].texts, language, progress)
    if output is not None:
        save_table(labels.table([str(i) for i in range(1, len(columns["target"]) + 1)]), output)
    return labels.corpus()


def _from_judges(
    path: Path, max_difference: float, output: Path | None, json: bool, location: list[str]
) -> None:
    from qe.data.judges import judged_labels
    from qe.data.labels import save_table
    from qe.data.reading import Reading
    from qe.display.numbers import number

    reading = Reading(Path())
    labels = judged_labels(reading.matrix(reading.lines(path), "score", None, None), max_difference)
    if output is not None:
        save_table(labels.table(), output)
    summary = labels.to_json()
    weights = ", ".join(map(number, summary["weights"]))
    emit(
        "labels-judges", {"judges": summary}, json,
        f"{summary['segments']} segments, weights of the annotators: {weights}",
        f"{summary['excluded']} segments without a label: their annotators differ by more than "
        f"{max_difference:g}",
        f"labels: mean {number(summary['mean'], 4)}, standard deviation {number(summary['sd'], 4)}",
        *location,
    )  # fmt: skip
