"""Files of human judgements: WMT's ranking CSV, tables of ranks, pairwise counts; plain or gzip."""

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from features.basics.errors import InputError
from features.basics.numerals import integer, natural
from features.basics.progress import Progress, silent
from features.storage.files import read_lines
from qe.data.delimited import Dialect, Record
from qe.data.headers import key_of
from qe.data.score_files import is_comet
from qe.data.score_tables import SEGMENT, SYSTEM
from qe_human.judgements.collection import Codes, Collection, JudgedPair

BLANK = -1
WORST = 5


class JudgementFormat(ABC):
    """Recognises a file by its first line, and adds what it holds to a collection."""

    example: ClassVar[str]  # the first line of such a file, for messages

    @abstractmethod
    def recognises(self, first_line: str) -> bool:
        """Whether a file that begins so is of this format."""

    @abstractmethod
    def read(self, path: Path, collection: Collection) -> None:
        """Adds the judgements of a plain or gzip file; raises InputError, with the line, for invalid rows."""


def rows(path: Path, delimiter: str) -> Iterator[Record]:
    """(line, cells) of a table, the header first; raises InputError for quotes that are no CSV."""
    kind = "csv" if delimiter == "," else "tsv"
    return Dialect(kind, delimiter, quoting=kind == "csv").records(read_lines(path), path)


def first_line_of(path: Path) -> str:
    return next(read_lines(path), "")


def check_width(cells: list[str], width: int, location: str) -> None:
    if len(cells) != width:
        raise InputError(f"expected {width} columns as in the header, found {len(cells)}", location=location)


def check_system(name: str, location: str) -> None:
    if not name.strip():
        raise InputError(
            "a system without a name", location=location, remedy="name it, or leave the task out"
        )


def rank_of(text: str, location: str) -> int:
    """The rank 1 .. 5, or -1 for one left blank; raises InputError for anything else."""
    try:
        rank = integer(text)
    except ValueError:
        rank = 0
    if rank != BLANK and not 1 <= rank <= WORST:
        raise InputError(
            f"the rank is '{text}', not one of 1 .. {WORST}",
            location=location,
            remedy=f"{BLANK} means a blank",
        )
    return rank


def delimiter_of(first_line: str) -> str:
    return "\t" if "\t" in first_line else ","


COUNT_COLUMNS = ("system_a", "system_b", "wins", "ties", "losses")
LANGUAGES = ("source_language", "target_language")
Counts = tuple[int, int, int]
_MOST = 10**12  # judgements of a pair of systems: sums of such counts are exact


class PairwiseCountTable(JudgementFormat):
    """TSV or CSV with the columns system_a, system_b, wins, ties, losses (of a against b).

    source_language and target_language name the pair; without them, the file's name does. The same without a
    header, cells separated by blanks, is read too. A pair of systems stands once, or once in each order with
    counts that agree.
    """

    example: ClassVar[str] = ",".join(COUNT_COLUMNS)

    def recognises(self, first_line: str) -> bool:
        return set(COUNT_COLUMNS) <= set(first_line.split(delimiter_of(first_line))) or _bare(first_line)

    def read(self, path: Path, collection: Collection) -> None:
        beginning = first_line_of(path)
        bare = _bare(beginning)
        table = rows(path, " " if bare and " " in beginning else delimiter_of(beginning))
        header = list(COUNT_COLUMNS) if bare else next(table)[1]
        places = [header.index(column) for column in COUNT_COLUMNS]
        languages = [header.index(column) for column in LANGUAGES if column in header]
        counts_by_pair: dict[tuple[str, str, str], Counts] = {}
        for line, cells in table:
            location = f"{path}:{line}"
            check_width(cells, len(header), location)
            a, b, *numbers = (cells[place] for place in places)
            check_system(a, location)
            check_system(b, location)
            pair = path.name.removesuffix(".gz")
            if len(languages) == 2:
                pair = "-".join(cells[place] for place in languages)
            counts = _counts(numbers, location)
            if _is_new(counts_by_pair, (pair, a, b), counts, location):
                collection.add_counts(pair, a, b, *counts)


def _is_new(
    counts_by_pair: dict[tuple[str, str, str], Counts],
    key: tuple[str, str, str],
    counts: Counts,
    location: str,
) -> bool:
    pair, a, b = key
    if a == b:
        raise InputError(f"'{a}' is compared with itself", location=location, remedy="leave the row out")
    if key in counts_by_pair:
        raise InputError(f"'{a}' and '{b}' appear twice in this order", location=location)
    counts_by_pair[key] = counts
    other = counts_by_pair.get((pair, b, a))
    if other is not None and other[::-1] != counts:
        raise InputError(
            f"'{a}' and '{b}' have counts {counts}, but {other} in the other order", location=location
        )
    return other is None


def _counts(texts: list[str], location: str) -> Counts:
    counts = [natural(text) for text in texts]
    for text, count in zip(texts, counts, strict=True):
        if count is None or count > _MOST:
            raise InputError(
                f"the count is '{text[:40]}', not a whole number from 0 to {_MOST:,}", location=location
            )
    wins, ties, losses = (count or 0 for count in counts)
    return wins, ties, losses


def _bare(line: str) -> bool:
    cells = line.split("\t" if "\t" in line else " ")
    return len(cells) == 5 and all(cell.isdecimal() for cell in cells[2:])


RANK_COLUMNS = ("source_language", "target_language", "segment", "judge", "system", "rank")
Key = tuple[str, str, str, str, str]


class RankTable(JudgementFormat):
    """TSV or CSV: source_language, target_language, segment, judge, system, rank.

    Ranks are 1 .. 5, lower is better, ties allowed, -1 for blank. A task is what one judge said about one
    segment, wherever its rows stand; where a judge ranked a segment more than once, a further column `task`
    tells the tasks apart. Other columns are not read.
    """

    example: ClassVar[str] = ",".join(RANK_COLUMNS)

    def recognises(self, first_line: str) -> bool:
        return set(RANK_COLUMNS) <= set(first_line.split(delimiter_of(first_line)))

    def read(self, path: Path, collection: Collection) -> None:
        beginning = first_line_of(path)
        table = rows(path, delimiter_of(beginning))
        header = next(table)[1]
        places = [header.index(column) for column in RANK_COLUMNS]
        task_place = header.index("task") if "task" in header else None
        tasks: dict[Key, list[tuple[str, int]]] = {}
        for line, cells in table:
            location = f"{path}:{line}"
            check_width(cells, len(header), location)
            source, target, segment, judge, system, rank = (cells[place] for place in places)
            check_system(system, location)
            task = "" if task_place is None else cells[task_place]
            ranked = tasks.setdefault((source, target, segment, judge, task), [])
            ranked.append((system, rank_of(rank, location)))
        if tasks:
            _add_ranked(tasks, collection)


def _add_ranked(tasks: dict[Key, list[tuple[str, int]]], collection: Collection) -> None:
    widths = Codes()
    numbers = widths.codes(str(len(ranked)) for ranked in tasks.values())
    items = list(tasks.items())
    for number, width in enumerate(widths.texts):
        chosen = [items[i] for i in np.flatnonzero(numbers == number)]
        collection.add_tasks(
            [f"{source}-{target}" for (source, target, *_), _ in chosen],
            [segment for (_, _, segment, *_), _ in chosen],
            [judge for (*_, judge, _), _ in chosen],
            [[ranked[place][0] for _, ranked in chosen] for place in range(int(width))],
            np.array([[rank for _, rank in ranked] for _, ranked in chosen], np.int16),
        )


_CHUNK = 50_000  # rows held as text at a time
_RANKS = {str(rank): rank for rank in (BLANK, *range(1, WORST + 1))}
_KEYS = ("srclang", "trglang", "srcIndex", "judgeId")
Rows = list[tuple[int, list[str]]]


class WmtCsv(JudgementFormat):
    """CSV of WMT rankings: srclang, trglang, srcIndex, judgeId, systemKId, systemKrank. The place K counts
    from 1; the last two columns come once for each place.

    Ranks are 1 .. 5, lower is better, ties allowed, -1 for blank. A place named `blank` with number 0 is
    empty. Other columns are not read: documentId and segmentId are redundant.
    """

    example: ClassVar[str] = (
        "srclang,trglang,srcIndex,...,judgeId,system1Number,system1Id,...,system1rank,..."
    )

    def recognises(self, first_line: str) -> bool:
        return {"srclang", "trglang", "system1Id"} <= set(first_line.split(delimiter_of(first_line)))

    def read(self, path: Path, collection: Collection) -> None:
        beginning = first_line_of(path)
        table = rows(path, delimiter_of(beginning))
        layout = _layout(next(table)[1], path)
        while chunk := list(islice(table, _CHUNK)):
            _add_chunk(chunk, layout, path, collection)


@dataclass(frozen=True)
class _Layout:
    width: int
    keys: tuple[int, ...]
    names: tuple[int, ...]
    numbers: tuple[int, ...] | None
    ranks: tuple[int, ...]


def _layout(header: list[str], path: Path) -> _Layout:
    places = sum(f"system{k}Id" in header for k in range(1, len(header)))
    if places < 2:
        raise InputError("has columns for fewer than two systems", location=f"{path}:1")
    names, ranks, numbers = (
        [f"system{k}{what}" for k in range(1, places + 1)] for what in ("Id", "rank", "Number")
    )
    missing = [column for column in (*_KEYS, *names, *ranks) if column not in header]
    if missing:
        raise InputError(f"no column '{missing[0]}'", location=f"{path}:1")
    location = {column: i for i, column in enumerate(header)}
    known = [column for column in numbers if column in location]
    return _Layout(
        len(header),
        tuple(location[column] for column in _KEYS),
        tuple(location[column] for column in names),
        tuple(location[column] for column in numbers) if len(known) == places else None,
        tuple(location[column] for column in ranks),
    )


def _add_chunk(chunk: Rows, layout: _Layout, path: Path, collection: Collection) -> None:
    for line, cells in chunk:
        if len(cells) != layout.width:
            check_width(cells, layout.width, f"{path}:{line}")
    columns = list(zip(*(cells for _, cells in chunk), strict=True))
    source, target, segments, judges = (columns[i] for i in layout.keys)
    try:
        ranks = np.array([[_RANKS[text] for text in columns[i]] for i in layout.ranks], np.int16).T
    except KeyError:
        ranks = np.array(
            [[rank_of(cells[i], f"{path}:{line}") for i in layout.ranks] for line, cells in chunk], np.int16
        )
    names = list(_names(columns, layout, chunk, path))
    pairs = [f"{a}-{b}" for a, b in zip(source, target, strict=True)]
    collection.add_tasks(pairs, segments, judges, names, ranks)


def _names(
    columns: list[tuple[str, ...]], layout: _Layout, chunk: Rows, path: Path
) -> Iterator[list[str | None]]:
    for k, place in enumerate(layout.names):
        names: list[str | None] = list(columns[place])
        if not all(map(str.strip, columns[place])):
            for (line, _), name in zip(chunk, columns[place], strict=True):
                check_system(name, f"{path}:{line}")
        if layout.numbers is not None and "blank" in names:
            numbers = columns[layout.numbers[k]]
            names = [
                None if name == "blank" and number == "0" else name
                for name, number in zip(names, numbers, strict=True)
            ]
        yield names


FORMATS: tuple[JudgementFormat, ...] = (PairwiseCountTable(), RankTable(), WmtCsv())


def read_judgements(paths: Sequence[Path], progress: Progress = silent) -> dict[str, JudgedPair]:
    """Language pair (`Czech-English`) -> its judgements from all files together.

    Judges and segments of the same name are the same, in every file. Raises InputError for a file of no known
    format, and for rows that cannot be read.
    """
    return collected(paths, progress).judged_pairs()


def collected(paths: Sequence[Path], progress: Progress = silent) -> Collection:
    collection = Collection()
    for done, path in enumerate(paths):
        progress("reading", done, len(paths))
        format_of(path).read(path, collection)
    return collection


def format_of(path: Path) -> JudgementFormat:
    """The format that recognises the file's first line; raises InputError if none does."""
    first_line = first_line_of(path)
    if not first_line:
        raise InputError("is empty, or begins with an empty line", location=path)
    for entry in FORMATS:
        if entry.recognises(first_line):
            return entry
    remedy = f"first lines: {'; '.join(entry.example for entry in FORMATS)}"
    columns = {key_of(name) for name in first_line.split(delimiter_of(first_line))}
    if (columns & {*SYSTEM} and columns & {*SEGMENT}) or is_comet(path):
        remedy = "systems are compared by scores with `qe compare --scores FILE`"
    raise InputError("begins like no known file of judgements", location=f"{path}:1", remedy=remedy)


def chosen_pairs(judged: dict[str, JudgedPair], names: Sequence[str]) -> dict[str, JudgedPair]:
    """The requested pairs, or all; raises InputError for unknown pairs, or those without comparisons."""
    if not judged:
        raise InputError("the files hold no judgements")
    for name in names:
        if name not in judged:
            near = difflib.get_close_matches(name, judged, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(f"no judgements of '{name}'", remedy=f"there are {', '.join(judged)}{hint}")
    chosen = {name: judged[name] for name in names or judged}
    for name, pair in chosen.items():
        if pair.counts.total == 0:
            raise InputError(
                f"no two systems of {name} are compared", remedy="choose other pairs with --pair"
            )
    return chosen
