"""Files of translation tools: the same file with a score at every segment."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from features.basics.errors import InputError, quoted
from features.storage.checksums import checksum
from features.storage.files import atomic_file, digest
from features.storage.outputs import check_output, check_outside
from qe.data.table_rows import FileInput, Layout
from qe.data.translation_files.segments import TranslationFile, translation_kind
from qe.data.translation_files.xlsx import NO_VALUE, Sheet, write_book
from qe.data.writing import KINDS, writing
from qe.display.numbers import number
from qe.scoring.job_summary import JobSummary, ScoredFile
from qe.scoring.jobs import FinishedOutput
from qe.scoring.row_formats import Names, added_headers
from qe.scoring.scorer import Options, Scorer
from qe.scoring.settings import JobSettings


def score_in_place(
    model: Path,
    source: Path,
    output: Path,
    settings: JobSettings,
    *,
    identity: str | None = None,
    options: Options | None = None,
    columns: Mapping[str, str] | None = None,
    layout: Layout | None = None,
    job_summary: JobSummary | None = None,
) -> ScoredFile:
    """Score every segment of an XLIFF, TMX or XLSX file into a file of the same kind, or into a workbook.

    Only notes are added to XLIFF and TMX, instead of those of an earlier scoring, and none to segments that
    are locked, not to be translated or not translated. In XLSX, what openpyxl does not know is lost. A
    workbook of XLIFF or TMX is for reviewers: a row for each segment, with its id, texts and scores.
    """
    is_review = translation_kind(output) == "xlsx" != translation_kind(source)
    if not is_review:
        _check_kinds(source, output)
    check_output(output, [source, model])
    check_outside(output, model)
    scorer = Scorer.load(model, options or Options(cache=0), identity=identity)
    key = (scorer.options.key, sorted((columns or {}).items()), layout or Layout(), settings.suffix)
    finished = FinishedOutput(output, digest(scorer.recipe, [checksum(source)], key))
    if (unchanged := finished.result(settings.overwrite, job_summary)) is not None:
        return unchanged
    table = FileInput(source, replace(layout or Layout(), languages=scorer.languages))
    if not isinstance(table.file, Sheet) and scorer.model.guard is not None:
        scorer = replace(scorer, options=replace(scorer.options, outside=True))  # notes report what is marked
    if columns and not isinstance(table.file, Sheet):
        raise InputError("--columns is for tables", remedy="XLIFF and TMX have no columns")
    names = Names(columns or {}).for_table(scorer.needs, table.headers, table.columns, table.path)
    batch = scorer.score([names.view(row) for row in table.rows()], 0)
    with atomic_file(output) as temporary:
        if is_review:
            texts = dict.fromkeys((name for row in table.file.rows for name in row.texts), "")
            pairs = zip(table.file.rows, batch.rows, strict=True)
            write_book(temporary, [{**texts, **scores, **row.texts} for row, scores in pairs])
        elif isinstance(table.file, Sheet):
            added = [name for name in scorer.output_columns if name != "id"]
            headers = added_headers(added, table.file.header, settings.suffix, source)
            numbered = zip(table.file.rows, batch.rows, strict=True)
            table.file.add(headers, {row.number: scores for row, scores in numbered})
            table.file.save(temporary)
        else:
            rows = zip(table.file.rows, batch.rows, strict=True)
            notes = [None if row.reasons or row.reason else note(scores) for row, scores in rows]
            with writing(temporary, output) as stream:
                stream.write(table.file.with_notes(notes))
        if not is_review:
            scored_input = FileInput(temporary, replace(table.layout, kind=translation_kind(source)))
            _check_written(table.file, scored_input, source)
    return finished.with_result(ScoredFile.from_tally(batch.tally, scorer), job_summary)


def _check_written(file: TranslationFile | Sheet, scored_input: FileInput, source: Path) -> None:
    try:
        difference = _difference(file, scored_input.file)
    except InputError as error:
        difference = error.problem
    if difference:
        problem = f"cannot be scored in place: the result would be no such file ({difference})"
        raise InputError(problem, location=source, remedy="score it into a table, such as scores.tsv")


def _difference(file: TranslationFile | Sheet, output: TranslationFile | Sheet) -> str:
    if len(file.rows) != len(output.rows):
        return f"{len(output.rows)} segments of {len(file.rows)}"
    names = file.header if isinstance(file, Sheet) else ["id", "source", "target"]
    for row, copy in zip(file.rows, output.rows, strict=True):
        for name in names:
            if copy.texts.get(name) != row.texts[name] and NO_VALUE not in copy.reasons.get(name, ""):
                return f"{quoted(row.texts[name])} would be {quoted(copy.texts.get(name, ''))}"
    return ""


def _check_kinds(source: Path, output: Path) -> None:
    kind, gzipped = translation_kind(source), source.suffix.lower() == ".gz"
    if translation_kind(output) != kind or (output.suffix.lower() == ".gz") != gzipped:
        tables = (*KINDS, *(() if kind == "xlsx" else ("xlsx",)))
        raise InputError(
            f"a file of {kind} is scored into one of {kind}, or into a table",
            location=output,
            remedy=f"let it end in {''.join(source.suffixes[-2:]) if gzipped else source.suffix}, "
            f"or in .{', .'.join(tables)}",
        )


def note(row: Mapping[str, Any]) -> str:
    """The text of the note of a segment.

    >>> note({"id": "1", "score": 3.14159, "reason": "", "low": 2.0, "high": 4.5})
    'score 3.142; low 2.000; high 4.500'
    """
    if row["score"] is None:
        return f"no score: {row['reason']}"
    omitted = {"id", "reason", *(() if row.get("unlike") else ("outside",))}
    return "; ".join(
        f"{name} {number(value)}" if isinstance(value, float) else f"{name} {value}"
        for name, value in row.items()
        if name not in omitted and value not in (None, "")
    )
