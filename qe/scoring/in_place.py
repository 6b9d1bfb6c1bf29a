"""Files of translation tools: the same file with a score at every segment."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from features.basics.errors import InputError, quoted
from features.storage.files import atomic_file
from features.storage.outputs import check_output, check_outside
from qe.data.table_rows import FileInput, Layout
from qe.data.translation_files.kinds import translation_kind
from qe.data.translation_files.opened import Opened, opened
from qe.data.translation_files.row import FileRow
from qe.data.translation_files.xlsx import NO_VALUE, Sheet
from qe.display.numbers import number
from qe.scoring import row_formats
from qe.scoring.flags import kinds_of
from qe.scoring.job_summary import JobSummary
from qe.scoring.jobs import finished_output
from qe.scoring.naming import Names, added_headers
from qe.scoring.scored_file import ScoredFile
from qe.scoring.scorer import Batch, Options, Scorer


def score_in_place(
    model: Path,
    source: Path,
    output: Path,
    *,
    identity: str | None = None,
    options: Options | None = None,
    columns: Mapping[str, str] | None = None,
    layout: Layout | None = None,
    suffix: str = "",
    overwrite: bool = False,
    job_summary: JobSummary | None = None,
) -> ScoredFile:
    """Scores every segment of an XLIFF, TMX or XLSX file into a file of the same kind.

    identity  of the model that must lie there, if it is known
    columns   of XLSX: name of a column that the model reads -> its header in the file
    layout    sheet and row of the header, of XLSX; names of languages, of XLIFF and TMX
    suffix    of the headers that an XLSX gets
    job_summary  is written where it says when the output is there

    XLIFF and TMX are the same but for the notes; those of an earlier scoring are replaced. XLSX is what
    openpyxl keeps of it.

    Raises InputError for a file that cannot be read or is of other languages than the model, before anything
    is written, and for an output that another job made.
    """
    _check_kinds(source, output)
    check_output(output, [source, model])
    check_outside(output, model)
    scorer = Scorer.load(model, options or Options(cache=0), identity=identity)
    wanted = (scorer.options.key, sorted((columns or {}).items()), layout or Layout(), suffix)
    made = finished_output(scorer.recipe, [source], output, wanted)
    earlier = made.earlier(overwrite)
    if earlier is not None:
        unchanged = ScoredFile.from_json(earlier, unchanged=True)
        if job_summary is not None:
            job_summary.write(unchanged)
        return unchanged
    languages = scorer.languages
    given = FileInput(source, replace(layout or Layout(), languages=languages))
    if not isinstance(given.file, Sheet) and scorer.model.guard is not None:
        scorer = replace(scorer, options=replace(scorer.options, outside=True))  # notes tell what is marked
    names = _names(scorer, given, columns or {})
    batch = scorer.score([names.view(row) for row in given.rows()], 0)
    with atomic_file(output) as temporary:
        if isinstance(given.file, Sheet):
            _add_columns(given.file, batch, scorer.output_columns, suffix)
            given.file.save(temporary)
        else:
            with row_formats.writing(temporary, row_formats.packed_as(output)) as stream:
                stream.write(given.file.with_notes(_notes(given.file.rows, batch)))
        kind, asked = translation_kind(source), given.layout.options
        _check_written(given.file, partial(opened, temporary, languages, asked, kind=kind), source)
    summary = replace(_summary(batch, scorer), recipe=scorer.recipe)
    if job_summary is not None:
        job_summary.write(summary)
    made.remember(summary.to_json())
    return summary


def _check_written(file: Opened, read: Callable[[], Opened], source: Path) -> None:
    try:
        wrong = _difference(file, read())
    except InputError as error:
        wrong = error.problem
    if wrong:
        raise InputError(
            f"cannot be scored in place: the result would be no such file ({wrong})",
            location=source,
            remedy="score it into a table, such as scores.tsv",
        )


def _difference(file: Opened, again: Opened) -> str:
    if len(file.rows) != len(again.rows):
        return f"{len(again.rows)} segments of {len(file.rows)}"
    names = file.header if isinstance(file, Sheet) else ["id", "source", "target"]
    for one, other in zip(file.rows, again.rows, strict=True):
        for name in names:
            if other.texts.get(name) != one.texts[name] and NO_VALUE not in other.reasons.get(name, ""):
                return f"{quoted(one.texts[name])} would be {quoted(other.texts.get(name, ''))}"
    return ""


def _check_kinds(source: Path, output: Path) -> None:
    own, gzipped = translation_kind(source), source.suffix.lower() == ".gz"
    if translation_kind(output) != own or (output.suffix.lower() == ".gz") != gzipped:
        raise InputError(
            f"a file of {own} is scored into one of {own}, or into a table",
            location=output,
            remedy=f"let it end in {''.join(source.suffixes[-2:]) if gzipped else source.suffix}, "
            f"or in .{', .'.join(row_formats.KINDS)}",
        )


def _names(scorer: Scorer, given: FileInput, columns: Mapping[str, str]) -> Names:
    if columns and not isinstance(given.file, Sheet):
        raise InputError("--columns is for tables", remedy="XLIFF and TMX have no columns")
    names = Names(columns).completed(scorer.columns(), given.columns, scorer.headers, given.path)
    names.check(scorer.columns(), given.columns, given.path, scorer.who)
    return names


def _add_columns(sheet: Sheet, batch: Batch, columns: Sequence[str], suffix: str) -> None:
    headers = added_headers([name for name in columns if name != "id"], sheet.header, suffix, sheet.path)
    numbered = zip(sheet.rows, batch.rows, strict=True)
    sheet.add(headers, {row.number: scores for row, scores in numbered})


def _notes(rows: Sequence[FileRow], batch: Batch) -> list[str | None]:
    return [None if row.reasons else note(scores) for row, scores in zip(rows, batch.rows, strict=True)]


def note(row: Mapping[str, Any]) -> str:
    """What a note says of a segment.

    >>> note({"id": "1", "score": 3.14159, "reason": "", "low": 2.0, "high": 4.5})
    'score 3.142; low 2.000; high 4.500'
    """
    if row["score"] is None:
        return f"no score: {row['reason']}"
    left = {"id", "reason", *(() if row.get("unlike") else ("outside",))}
    values = {name: value for name, value in row.items() if name not in left and value not in (None, "")}
    quoted = (
        f"{name} {number(value)}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )
    return "; ".join(quoted)


def _summary(batch: Batch, scorer: Scorer) -> ScoredFile:
    reasons = Counter(str(row["reason"]) for row in batch.rows)
    done = reasons.pop("", 0)
    actions = Counter(str(row["action"]) for row in batch.rows if row.get("action"))
    flagged = Counter(kind for row in batch.rows for kind in kinds_of(row.get("flags")))
    drift = None if scorer.profile is None or batch.counts is None else scorer.profile.report(batch.counts)
    return ScoredFile(
        len(batch.rows), done, reasons, 0, batch.repeated, drift, actions, flagged, scorer.lacking
    )
