"""Files of translation tools: the same file with a score at every segment, or a table of the scores."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from features.basics.errors import InputError, shown
from features.storage.files import atomic_file
from features.storage.outputs import check_output
from qe.data.translation_files.kinds import translation_kind
from qe.data.translation_files.opened import Asked, Opened, opened
from qe.data.translation_files.row import FileRow
from qe.data.translation_files.xlsx import NO_VALUE, Sheet
from qe.scoring import tables
from qe.scoring.flags import kinds_of
from qe.scoring.jobs import ScoredFile
from qe.scoring.naming import Names, added_headers
from qe.scoring.rows import Row
from qe.scoring.scorer import Batch, Options, Scorer


@dataclass(frozen=True)
class Layout:
    """How the columns of the output are laid out.

    keep    whether a table has the columns of the file, before those that are added
    suffix  of the names of columns that are added to others
    safe    whether cells that a spreadsheet would take for formulas are written as text (TSV and CSV)
    """

    keep: bool = False
    suffix: str = ""
    safe: bool = False


@dataclass(frozen=True)
class FileOptions:
    """What is asked of the file and its output, beside what is asked of the scores.

    columns  of XLSX: name of a column that the model reads -> its header in the file
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    asked: Asked = field(default_factory=Asked)
    layout: Layout = field(default_factory=Layout)
    overwrite: bool = False


def score_translations(
    model: Path,
    source: Path,
    output: Path,
    *,
    identity: str | None = None,
    options: Options | None = None,
    file_options: FileOptions | None = None,
) -> ScoredFile:
    """Scores every segment of an XLIFF, TMX or XLSX file, into a file of the same kind or a table.

    identity  of the model that must lie there, if it is known

    In place, XLIFF and TMX are the same but for the notes; those of an earlier scoring are replaced. XLSX is
    what openpyxl keeps of it.

    Raises InputError for a file that cannot be read or is of other languages than the model, before anything
    is written, and for an output that is there already.
    """
    how = file_options or FileOptions()
    kind = _output_kind(source, output)
    check_output(output, [source, model])
    if output.exists() and not how.overwrite:
        raise InputError("is there already", where=output, remedy="name another file, or add --overwrite")
    scorer = Scorer.load(model, options or Options(cache=0), identity=identity)
    source_language, target_language = (each.language for each in scorer.model.tokenizers)
    reader = partial(opened, languages=(source_language, target_language), asked=how.asked)
    file = reader(source)
    names = _names(scorer, file, how.columns, source)
    batch = scorer.score([_row(row, names, scorer.columns()) for row in file.rows], 0)
    scored = _Scored(source, file, batch.rows, scorer.output_columns, how.layout)
    with atomic_file(output) as temporary:
        if kind in tables.KINDS:
            scored.write_table(temporary, tables.kind_of(output), output.suffix.lower() == ".gz", names)
        else:
            scored.write_in_place(temporary)
            _check_written(file, partial(reader, temporary, kind=kind), source)
    return _summary(batch, scorer)


def _check_written(file: Opened, read: Callable[[], Opened], source: Path) -> None:
    """Raises InputError unless what was written can be read, and holds the same texts."""
    try:
        wrong = _difference(file, read())
    except InputError as error:
        wrong = error.what
    if wrong:
        raise InputError(
            f"cannot be scored in place: the result would be no such file ({wrong})",
            where=source,
            remedy="score it into a table, such as scores.tsv",
        )


def _difference(file: Opened, again: Opened) -> str:
    """What texts are not the same; empty if there are none. Formulas get their values from a spreadsheet."""
    if len(file.rows) != len(again.rows):
        return f"{len(again.rows)} segments of {len(file.rows)}"
    names = file.header if isinstance(file, Sheet) else ["id", "source", "target"]
    for one, other in zip(file.rows, again.rows, strict=True):
        for name in names:
            if other.texts.get(name) != one.texts[name] and NO_VALUE not in other.reasons.get(name, ""):
                return f"{shown(one.texts[name])} would be {shown(other.texts.get(name, ''))}"
    return ""


def _output_kind(source: Path, output: Path) -> str:
    """The kind of the output: a table, or the input's own. Raises InputError for another."""
    own, other = translation_kind(source), translation_kind(output)
    if other is None:
        return tables.kind_of(output)
    if other != own or (source.suffix.lower() == ".gz") != (output.suffix.lower() == ".gz"):
        ending = "".join(source.suffixes[-2:]) if source.suffix.lower() == ".gz" else source.suffix
        raise InputError(
            f"a file of {own} is scored into one of {own}, or into a table",
            where=output,
            remedy=f"let it end in {ending}, or in .{', .'.join(tables.KINDS)}",
        )
    return other


def _names(scorer: Scorer, file: Opened, columns: Mapping[str, str], where: Path) -> Names:
    """The names of columns, checked against what the file has."""
    names = Names(columns)
    if isinstance(file, Sheet):
        names.check(scorer.columns(), file.header, where, f"the model '{scorer.model.name}'")
        return names
    if columns:
        raise InputError("--columns is for tables", remedy="XLIFF and TMX have no columns")
    more = [name for name in scorer.columns() if name not in ("source", "target")]
    if more:
        raise InputError(
            f"the model '{scorer.model.name}' needs the column '{more[0]}'",
            where=where,
            remedy="score a table that has it",
        )
    return names


def _row(row: FileRow, names: Names, needed: Sequence[str]) -> Row:
    columns = (names.header(name) for name in needed)
    reason = next((row.reasons[name] for name in columns if name in row.reasons), "")
    return names.view((dict(row.texts), reason))


@dataclass(frozen=True)
class _Scored:
    """A file and the scores of its rows.

    added  the columns of `scores`
    """

    path: Path
    file: Opened
    scores: Sequence[Mapping[str, Any]]
    added: Sequence[str]
    layout: Layout

    def write_in_place(self, path: Path) -> None:
        if isinstance(self.file, Sheet):
            headers = added_headers(self._new("id"), self.file.header, self.layout.suffix, self.path)
            numbered = zip(self.file.rows, self.scores, strict=True)
            self.file.add(headers, {row.number: scores for row, scores in numbered})
            self.file.save(path)
            return
        notes = [
            note(scores) if not row.reasons else None
            for row, scores in zip(self.file.rows, self.scores, strict=True)
        ]
        path.write_bytes(self.file.with_notes(notes))

    def _new(self, *others: str) -> list[str]:
        return [name for name in self.added if name not in others]

    def write_table(self, path: Path, kind: tables.Kind, gzipped: bool, names: Names) -> None:
        rows, columns, types = self.scores, list(self.added), dict[str, Any]()
        if self.layout.keep:
            there = [name for name in self.file.header if name]
            new = self._new(*({"id"} if names.header("id") in there else ()))
            headers = added_headers(new, there, self.layout.suffix, self.path)
            types = tables.types_of(headers)
            columns = [*there, *headers.values()]
            rows = [
                {**{name: row.texts.get(name, "") for name in there}, **{headers[n]: scores[n] for n in new}}
                for row, scores in zip(self.file.rows, self.scores, strict=True)
            ]
        with tables.writing(path, gzipped) as stream:
            stream.write(tables.whole(rows, columns, kind, types, self.layout.safe))


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


def _summary(batch: Batch, scorer: Scorer) -> ScoredFile:
    reasons = Counter(str(row["reason"]) for row in batch.rows)
    done = reasons.pop("", 0)
    actions = Counter(str(row["action"]) for row in batch.rows if row.get("action"))
    flagged = Counter(kind for row in batch.rows for kind in kinds_of(row.get("flags")))
    lacking = {} if scorer.flags is None else scorer.flags.lacking
    drift = None if scorer.profile is None or batch.counts is None else scorer.profile.report(batch.counts)
    return ScoredFile(len(batch.rows), done, reasons, 0, batch.repeated, drift, actions, flagged, lacking)
