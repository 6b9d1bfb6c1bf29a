"""Counts of pairwise judgements, without the tasks that they come from."""

from pathlib import Path
from typing import ClassVar

from features.basics.errors import InputError
from features.basics.numerals import natural
from qe_human.judgements.collection import Collection, name_of
from qe_human.judgements.format import (
    JudgementFormat,
    check_system,
    check_width,
    delimiter_of,
    first_line_of,
    rows,
)

COLUMNS = ("system_a", "system_b", "wins", "ties", "losses")
LANGUAGES = ("source_language", "target_language")
Counts = tuple[int, int, int]
_MOST = 10**12  # judgements of a pair of systems: sums of such counts are exact


class PairwiseCountTable(JudgementFormat):
    """TSV or CSV with the columns system_a, system_b, wins, ties, losses (of a against b).

    source_language and target_language name the pair; without them, the file's name does. The same without a
    header, cells separated by blanks, is read too. A pair of systems stands once, or once in each order with
    counts that agree.
    """

    example: ClassVar[str] = ",".join(COLUMNS)

    def recognises(self, first_line: str) -> bool:
        return set(COLUMNS) <= set(first_line.split(delimiter_of(first_line))) or _bare(first_line)

    def read(self, path: Path, collection: Collection) -> None:
        beginning = first_line_of(path)
        bare = _bare(beginning)
        table = rows(path, " " if bare and " " in beginning else delimiter_of(beginning))
        header = list(COLUMNS) if bare else next(table)[1]
        places = [header.index(column) for column in COLUMNS]
        languages = [header.index(column) for column in LANGUAGES if column in header]
        counts_by_pair: dict[tuple[str, str, str], Counts] = {}
        for line, cells in table:
            location = f"{path}:{line}"
            check_width(cells, len(header), location)
            a, b, *numbers = (cells[place] for place in places)
            check_system(a, location)
            check_system(b, location)
            pair = "-".join(cells[place] for place in languages) if len(languages) == 2 else name_of(path)
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
