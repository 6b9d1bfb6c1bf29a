"""Rows that gave texts to resources: which part they are of, and results in the order of the segments."""

from dataclasses import dataclass

import numpy as np

from features.core.out_of_fold import NO_PART, Longs, OutOfFold, Parts, in_groups, part_of
from features.core.segments import Segments

SOURCES = tuple(f"sentence {k % 20}" for k in range(40))
TARGETS = tuple(f"Satz {k}" for k in range(40))
SEGMENTS = Segments(SOURCES, TARGETS, id=tuple(f"row {k}" for k in range(40)))


@dataclass(frozen=True)
class Made:
    values: np.ndarray

    def take(self, rows: Longs) -> "Made":
        return Made(self.values[rows])


def joined(pieces: list[Made]) -> Made:
    return Made(np.concatenate([piece.values for piece in pieces]))


def test_equal_sources_are_in_the_same_part_and_all_parts_are_used() -> None:
    part = Parts.from_segments(SEGMENTS, 3)(SEGMENTS)
    assert part.tolist()[:20] == part.tolist()[20:]
    assert set(part.tolist()) == {0, 1, 2}
    assert part.tolist() == [part_of(source, 3) for source in SOURCES]


def test_any_other_row_is_new() -> None:
    parts = Parts.from_segments(SEGMENTS, 3)
    others = Segments(SOURCES[:3], ("x", *TARGETS[1:3]), id=("row 0", "y", "row 2"))
    assert parts(others).tolist() == [NO_PART, NO_PART, part_of(SOURCES[2], 3)]


def test_fingerprints_tell_rows_and_numbers_apart() -> None:
    prints = [
        Parts.from_segments(SEGMENTS, 3),
        Parts.from_segments(SEGMENTS, 4),
        Parts.from_segments(SEGMENTS.take(np.arange(39)), 3),
    ]
    assert len({parts.fingerprint for parts in prints}) == 3
    assert Parts.from_segments(SEGMENTS, 3).fingerprint == prints[0].fingerprint


def test_every_row_is_looked_up_in_what_its_part_says_and_put_in_its_place() -> None:
    parts = Parts.from_segments(SEGMENTS.take(np.arange(30)), 3)
    groups = OutOfFold(parts, ["part 0", "part 1", "part 2"]).groups("new", SEGMENTS)
    assert sorted(np.concatenate([rows for _, rows in groups]).tolist()) == list(range(40))

    def compute(which: str, some: Segments, rows: Longs) -> Made:
        assert some.id == tuple(f"row {k}" for k in rows.tolist())
        return Made(np.array([f"{which}: {name}" for name in some.id]))

    result = in_groups(groups, SEGMENTS, compute, joined).values.tolist()
    expected = [
        f"part {part_of(source, 3)}: row {k}" if k < 30 else f"new: row {k}"
        for k, source in enumerate(SOURCES)
    ]
    assert result == expected
