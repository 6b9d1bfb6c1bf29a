"""Filtered files: the pairs that pass, in order and as they were; the others with reasons."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet as pq

from features.basics.progress import Progress, silent
from features.storage.files import atomic_file, line_form
from features.storage.outputs import check_output
from qe.data.table_rows import Input, Layout, ParallelInput, ParquetInput, Row, chunks, open_input, unusable
from qe.scoring import row_formats
from qe.scoring.check import Checks
from qe.scoring.filter_threshold import Threshold
from qe.scoring.kept import Kept
from qe.scoring.naming import Names

CHUNK = 5000
_TEXTS = ("source", "target")


@dataclass(frozen=True)
class Filtered:
    """refused: check (or `unreadable`, `score`) -> pairs that it refused first."""

    pairs: int
    kept: int
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
    """Write the pairs that all checks and the score let pass.

    They come from a table, or from two parallel text files.

    output     a table, or two text files if the input is two
    threshold  of the score; asked last, of the pairs that all checks let pass
    columns    `source` or `target` -> the header that it has in the input
    layout     how the input lies on disk, as far as that is not to be seen
    rejected   a table of the pairs that are left out, with the columns `check` and `reason`

    Raises InputError for inputs and outputs that cannot be used; the outputs are then as they were.
    """
    given = open_input(source, layout)
    names = Names(columns or {}).completed(_TEXTS, given.headers, {}, given.path)
    _check(names, given, threshold)
    total = None if progress is silent else given.count()
    others = [path for path in (*output, rejected) if path is not None]
    for number, path in enumerate(others):
        check_output(path, [*source, *others[:number]])
    done, counts = 0, Counter[str]()
    with ExitStack() as stack:
        passed = stack.enter_context(_opened(given, output, ()))
        left = stack.enter_context(_opened(given, [rejected], ("check", "reason"))) if rejected else None
        for batch in chunks(given.rows(strict=True), CHUNK):
            verdicts = _verdicts(batch, names, checks, threshold)
            for (row, _), (check, reason) in zip(batch, verdicts, strict=True):
                counts[check] += 1
                if not check:
                    passed.add(row, {})
                elif left is not None:
                    left.add(row, {"check": check, "reason": reason})
            passed.flush()
            if left is not None:
                left.flush()
            done += len(batch)
            progress("filtering (pairs)", done, total)
    kept = counts.pop("", 0)
    return Filtered(done, kept, dict(counts))


def _check(names: Names, given: Input, threshold: Threshold | None) -> None:
    if threshold is not None:
        threshold.check(given.columns)
        if (scorer := threshold.scorer) is not None:
            names.check(scorer.columns(), given.columns, given.path, f"the model '{scorer.model.name}'")
            return
    names.check(_TEXTS, given.columns, given.path, "a filter")


def _verdicts(
    batch: Sequence[Row], names: Names, checks: Checks, threshold: Threshold | None
) -> list[tuple[str, str]]:
    views = [names.view(row) for row in batch]
    verdicts = [_by_checks(view, checks) for view in views]
    if threshold is not None:
        passing = [i for i, (check, _) in enumerate(verdicts) if not check]
        for i, reason in zip(passing, threshold.reasons([views[i] for i in passing]), strict=True):
            verdicts[i] = ("score", reason) if reason else ("", "")
    return verdicts


def _by_checks(view: Row, checks: Checks) -> tuple[str, str]:
    columns, reason = view
    reason = reason or unusable(columns, _TEXTS)
    if reason:
        return "unreadable", reason
    return checks.first(columns["source"], columns["target"])


class _Sink(Protocol):
    def add(self, row: Mapping[str, Any], more: Mapping[str, Any]) -> None: ...

    def flush(self) -> None: ...


@contextmanager
def _opened(given: Input, output: Sequence[Path], added: Sequence[str]) -> Iterator[_Sink]:
    if len(output) == 2:
        with (
            atomic_file(output[0]) as one,
            atomic_file(output[1]) as other,
            row_formats.writing(one, row_formats.packed_as(output[0])) as left,
            row_formats.writing(other, row_formats.packed_as(output[1])) as right,
        ):
            paths = (given.path, given.target) if isinstance(given, ParallelInput) else output
            yield _Texts((left, right), [line_form(path) for path in paths])
        return
    kind = row_formats.kind_of(output[0])
    kept = Kept.make(given, added, kind, "id")
    with atomic_file(output[0]) as temporary:
        if kind == "parquet":
            schema = row_formats.arrow_table([], kept.columns, kept.types).schema
            with pq.ParquetWriter(temporary, schema) as writer:
                yield _Table(
                    kept,
                    lambda rows: writer.write_table(row_formats.arrow_table(rows, kept.columns, kept.types)),
                )
            return
        mark, end = (b"", b"\n") if isinstance(given, ParquetInput) else line_form(given.path)
        with row_formats.writing(temporary, row_formats.packed_as(output[0])) as stream:
            stream.write(mark + row_formats.header(kept.columns, kind, end.decode()))
            yield _Table(
                kept,
                lambda rows: stream.write(row_formats.encode(rows, kept.columns, kind, end=end.decode())),
            )


class _Texts:
    def __init__(self, streams: Sequence[Any], forms: Sequence[tuple[bytes, bytes]]) -> None:
        self.streams, self.ends = streams, [end for _, end in forms]
        for stream, (mark, _) in zip(streams, forms, strict=True):
            stream.write(mark)

    def add(self, row: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        for stream, side, end in zip(self.streams, _TEXTS, self.ends, strict=True):
            stream.write(row[side].encode() + end)

    def flush(self) -> None:
        pass


class _Table:
    def __init__(self, kept: Kept, write: Any) -> None:
        self.kept, self.write = kept, write
        self.rows: list[dict[str, Any]] = []

    def add(self, row: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        self.rows.append(self.kept.merged(row, more))

    def flush(self) -> None:
        if self.rows:
            self.write(self.rows)
        self.rows = []
