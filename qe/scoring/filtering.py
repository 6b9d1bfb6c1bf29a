"""Filtering of parallel text: pairs that pass all checks and a score threshold; the others with reasons."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from features.basics.assignments import assignments
from features.basics.errors import InputError, known_name
from features.basics.numerals import real
from features.basics.progress import Progress, silent
from features.storage.files import atomic_file, line_form
from features.storage.outputs import check_output
from qe.data.table_rows import (
    Input,
    Layout,
    ParallelInput,
    ParquetInput,
    Row,
    chunks,
    needed_texts,
    open_input,
)
from qe.data.writing import kind_of, table_writer, writing
from qe.display.numbers import number
from qe.scoring.checks import CHECKS, Checks, Knowledge
from qe.scoring.row_formats import KeptColumns, Names, Needs
from qe.scoring.scorer import Scorer

CHUNK = 5000
_TEXTS = ("source", "target")


def filter_checks(
    knowledge: Knowledge,
    *,
    additional: Collection[str] = (),
    excluded: Collection[str] = (),
    settings: Mapping[str, str] | None = None,
) -> Checks:
    """The default checks of a filter and `additional` ones, without the `excluded`, cheap ones first.

    `settings` are numbers by CHECK.key. Raises InputError for unknown checks and settings.
    """
    for option, names in (("--with", additional), ("--without", excluded)):
        for name in names:
            known_name("check", name, CHECKS, location=option)
    default = {name for name, check in CHECKS.items() if check.filters}
    selected = sorted((default | {*additional}) - {*excluded}, key=lambda name: (CHECKS[name].cost, name))
    values: dict[str, dict[str, Any]] = {name: {} for name in selected}
    for key, text in (settings or {}).items():
        name, _, setting = key.partition(".")
        known_name("check", name, selected, location="--set")
        types = {field.name: field.type for field in fields(CHECKS[name]) if field.name != "knowledge"}
        known_name(f"setting of {name}", setting, types, location="--set")
        is_whole = types[setting] is int
        try:
            value = int(text) if is_whole else float(text)
        except ValueError:
            expected = "a whole number" if is_whole else "a number"
            raise InputError(f"{key} is {expected}, but got '{text}'", location="--set") from None
        if not 0 <= value < float("inf"):
            raise InputError(f"{key} is a number from 0, but got {text}", location="--set")
        values[name][setting] = value
    return Checks.make(knowledge, values)


def parse_settings(texts: Sequence[str]) -> dict[str, str]:
    pairs = assignments(texts, "CHECK.key=value", "--set")
    for key, value in pairs.items():
        if "." not in key:
            raise InputError(f"expected CHECK.key=value, but got '{key}={value}'", location="--set")
    return pairs


@dataclass(frozen=True, eq=False)
class Threshold:
    """The worst score that passes, of a scorer or of an input column; pairs without a score do not pass."""

    worst: float
    higher_is_better: bool
    scorer: Scorer | None = None
    column: str = "score"

    def reasons(self, rows: Sequence[Row]) -> list[str]:
        scores: list[tuple[float | None, str]] = []
        if self.scorer is not None:
            outputs = self.scorer.score(rows).rows if rows else []
            scores = [(output["score"], output["reason"]) for output in outputs]
        else:
            for columns, _ in rows:
                try:
                    value = real(str(columns[self.column]))
                except (KeyError, TypeError, ValueError):
                    value = math.nan
                scores.append((value if math.isfinite(value) else None, ""))
        reasons, sign = [], 1 if self.higher_is_better else -1
        for score, reason in scores:
            if score is None:
                reasons.append(reason or "no score")
            else:
                passes = sign * score >= sign * self.worst
                reasons.append("" if passes else f"score {number(score)}")
        return reasons

    def check(self, declared: Sequence[str] | None) -> None:
        if self.scorer is None and declared is not None and self.column not in declared:
            remedy = f"score the input first, or give --model; the input has {', '.join(declared)}"
            raise InputError(f"there is no column '{self.column}'", location="--worst", remedy=remedy)


@dataclass(frozen=True)
class Filtered:
    """refused: check (or `unreadable`, `score`) -> pairs that it refused first."""

    pairs: int
    passing: int
    refused: Mapping[str, int]


def filter_files(
    source: Sequence[Path],
    output: Sequence[Path],
    checks: Checks,
    *,
    threshold: Threshold | None = None,
    columns: Mapping[str, str] | None = None,
    layout: Layout | None = None,
    rejected: Path | None = None,
    progress: Progress = silent,
) -> Filtered:
    """Write the pairs of a table, or of two parallel texts, that pass all checks and the threshold.

    output     a table, or two text files if the input is two
    rejected   a table of the other pairs, with the columns `check` and `reason`

    Raises InputError for inputs and outputs that cannot be used; the outputs are then unchanged.
    """
    table = open_input(source, layout)
    needs = Needs(_TEXTS, "a filter")
    if threshold is not None:
        threshold.check(table.columns)
        needs = needs if threshold.scorer is None else threshold.scorer.needs
    names = Names(columns or {}).for_table(needs, table.headers, table.columns, table.path)
    total = None if progress is silent else table.count()
    paths = [path for path in (*output, rejected) if path is not None]
    for position, path in enumerate(paths):
        check_output(path, [*source, *paths[:position]])
    done, counts = 0, Counter[str]()
    with ExitStack() as stack:
        passing = stack.enter_context(_writer(table, output, ()))
        refused = stack.enter_context(_writer(table, [rejected], ("check", "reason"))) if rejected else None
        for batch in chunks(table.rows(strict=True), CHUNK):
            verdicts = _verdicts(batch, names, checks, threshold)
            rows = [(row, *verdict) for (row, _), verdict in zip(batch, verdicts, strict=True)]
            counts.update(check for _, check, _ in rows)
            passing([(row, {}) for row, check, _ in rows if not check])
            if refused is not None:
                refused([(row, {"check": check, "reason": why}) for row, check, why in rows if check])
            done += len(batch)
            progress("filtering (pairs)", done, total)
    return Filtered(done, counts.pop("", 0), dict(counts))


def _verdicts(
    batch: Sequence[Row], names: Names, checks: Checks, threshold: Threshold | None
) -> list[tuple[str, str]]:
    views = [names.view(row) for row in batch]
    verdicts = []
    for columns, reason in views:
        texts, reason = ({}, reason) if reason else needed_texts(columns, _TEXTS)
        verdicts.append(("unreadable", reason) if reason else checks.first(texts["source"], texts["target"]))
    if threshold is not None:
        passing = [i for i, (check, _) in enumerate(verdicts) if not check]
        for i, reason in zip(passing, threshold.reasons([views[i] for i in passing]), strict=True):
            verdicts[i] = ("score", reason) if reason else ("", "")
    return verdicts


Addition = tuple[Mapping[str, Any], Mapping[str, Any]]  # a row of the input, and the columns added to it


@contextmanager
def _writer(
    table: Input, output: Sequence[Path], added: Sequence[str]
) -> Iterator[Callable[[Sequence[Addition]], object]]:
    if len(output) == 2:
        inputs = (table.path, table.target) if isinstance(table, ParallelInput) else output
        with ExitStack() as stack:
            sides = []
            for side, path, original in zip(_TEXTS, output, inputs, strict=True):
                mark, end = line_form(original)
                temporary = stack.enter_context(atomic_file(path))
                stream = stack.enter_context(writing(temporary, path))
                stream.write(mark)
                sides.append((side, stream, end))

            def write(rows: Sequence[Addition]) -> None:
                for side, stream, end in sides:
                    stream.writelines(row[side].encode() + end for row, _ in rows)

            yield write
        return
    columns = KeptColumns.make(table.types, added, kind_of(output[0]), "id", table.path)
    mark, end = (b"", b"\n") if isinstance(table, ParquetInput) else line_form(table.path)
    with (
        atomic_file(output[0]) as temporary,
        table_writer(temporary, output[0], columns.column_types, start=mark, end=end.decode()) as write_rows,
    ):
        yield lambda rows: write_rows([columns.merged(row, more) for row, more in rows])
