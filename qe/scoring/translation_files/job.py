"""Scoring a file of a translator: the same file with a score at every segment."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.files import atomic_file
from features.storage.outputs import check_output
from qe.scoring.flags import kinds_of
from qe.scoring.jobs import ScoredFile
from qe.scoring.naming import Names
from qe.scoring.scorer import Options, Scorer
from qe.scoring.tables import Row
from qe.scoring.translation_files import tmx, xliff
from qe.scoring.translation_files._xml import Edit

KINDS = {".xlf": "xliff", ".xliff": "xliff", ".sdlxliff": "xliff", ".tmx": "tmx", ".xlsx": "xlsx"}


def is_translation_file(path: Path) -> bool:
    """Whether a file's name says so."""
    return path.suffix.lower() in KINDS


def score_translations(
    model: Path,
    source: Path,
    output: Path,
    *,
    options: Options | None = None,
    columns: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> ScoredFile:
    """Scores every segment of an XLIFF, TMX or XLSX file into a file of the same kind.

    columns  of XLSX: name of a column that the model reads -> its header in the file

    XLIFF and TMX are the same bytes but for the notes; those of an earlier scoring are replaced. XLSX is
    what openpyxl keeps of it.

    Raises InputError for a file that cannot be read or is of other languages than the model, before anything
    is written, and for an output that is there already.
    """
    kind = _kind(source, output)
    check_output(output, [source, model])
    if output.exists() and not overwrite:
        raise InputError("is there already", where=output, remedy="name another file, or add --overwrite")
    scorer = Scorer.load(model, options or Options(cache=0))
    if columns and kind != "xlsx":
        raise InputError("--columns is for tables", remedy=f"a file of {kind} has no columns")
    if kind == "xlsx":
        return _workbook(scorer, source, output, Names(columns or {}))
    return _annotated(scorer, kind, source, output)


def _kind(source: Path, output: Path) -> str:
    kind = KINDS[source.suffix.lower()]
    if KINDS.get(output.suffix.lower()) != kind:
        raise InputError(
            f"a file of {kind} is scored into one of {kind}",
            where=output,
            remedy=f"let it end in {source.suffix}",
        )
    return kind


def _annotated(scorer: Scorer, kind: str, source: Path, output: Path) -> ScoredFile:
    _check_columns(scorer, source)
    wanted = tuple(tokenizer.language for tokenizer in scorer.model.tokenizers)
    if kind == "tmx":
        content, reader = tmx.segments(source, *wanted)
    else:
        content, reader = xliff.segments(source)
        _check_languages(reader.state["languages"], wanted, source)
    rows: list[Row] = [
        (
            {"id": unit.id, "source": unit.source, "target": unit.target},
            "" if unit.target.strip() else "no translation",
        )
        for unit in reader.units
    ]
    scored = scorer.score(rows, 0).rows
    edits: list[Edit] = list(reader.edits)
    for unit, row in zip(reader.units, scored, strict=True):
        if unit.write is not None and unit.target.strip():
            edits.append(unit.write(note(row)))
    with atomic_file(output) as temporary:
        temporary.write_bytes(content.edited(edits))
    return _summary(scored, scorer)


def _check_columns(scorer: Scorer, where: Path) -> None:
    """Raises InputError for a model that reads more than a translator's file has."""
    more = [name for name in scorer.columns() if name not in ("source", "target")]
    if more:
        raise InputError(
            f"the model '{scorer.model.name}' needs the column '{more[0]}'",
            where=where,
            remedy="score a table that has it",
        )


def note(row: Mapping[str, Any]) -> str:
    """What a note says of a segment.

    >>> note({"id": "1", "score": 3.14159, "reason": "", "low": 2.0, "high": 4.5})
    'score 3.142; low 2.000; high 4.500'
    """
    if row["score"] is None:
        return f"no score: {row['reason']}"
    values = {
        name: value for name, value in row.items() if name not in ("id", "reason") and value not in (None, "")
    }
    shown = (
        f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )
    return "; ".join(shown)


def _check_languages(given: Sequence[str], wanted: Sequence[str], where: Path) -> None:
    """Raises InputError where the file says that it is of other languages; en-GB is English."""
    for theirs, ours in zip(given, wanted, strict=True):
        if theirs and theirs.lower().partition("-")[0] != ours:
            raise InputError(
                f"is from {given[0]} to {given[1] or '?'}, but the model from {wanted[0]} to {wanted[1]}",
                where=where,
                remedy="score it by a model of its languages",
            )


def _workbook(scorer: Scorer, source: Path, output: Path, names: Names) -> ScoredFile:
    from qe.scoring.translation_files.xlsx import Sheet

    sheet = Sheet(source)
    names.check(scorer.columns(), sheet.header, source, f"the model '{scorer.model.name}'")
    rows: list[Row] = [(names.view((row, ""))[0], "") for row in sheet.rows()]
    scored = scorer.score(rows, 0).rows
    sheet.add([name for name in scorer.output_columns if name != "id"], scored)
    with atomic_file(output) as temporary:
        sheet.save(temporary)
    return _summary(scored, scorer)


def _summary(scored: Sequence[Mapping[str, Any]], scorer: Scorer) -> ScoredFile:
    reasons = Counter(str(row["reason"]) for row in scored)
    done = reasons.pop("", 0)
    actions = Counter(str(row["action"]) for row in scored if row.get("action"))
    flagged = Counter(kind for row in scored for kind in kinds_of(row.get("flags")))
    lacking = {} if scorer.flags is None else scorer.flags.lacking
    return ScoredFile(len(scored), done, reasons, 0, 0, None, actions, flagged, lacking)
