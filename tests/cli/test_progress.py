"""Progress where stderr is no terminal: a line for what lasts, none for what is short."""

import io

from qe.cli.shared.progress import Lines


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def lines_after(steps: list[tuple[float, tuple[str, int, int | None] | None]]) -> list[str]:
    """What is written when stages report at these times; None: the clock alone ticks."""
    stream, time = io.StringIO(), Time()
    lines = Lines(stream, time)
    for now, report in steps:
        time.now = now
        lines.tick() if report is None else lines(*report)
    return stream.getvalue().splitlines()


def test_short_stages_are_quiet() -> None:
    assert lines_after([(0, ("search", 0, 5)), (1, ("search", 3, 5)), (2, ("search", 5, 5)), (9, None)]) == []


def test_a_line_after_two_seconds_and_every_thirty_and_at_the_end() -> None:
    steps = [(0.0, ("search", 0, 100)), (3.0, ("search", 30, 100)), (4.0, ("search", 40, 100))]
    steps += [(33.5, ("search", 67, 100)), (50.0, ("search", 100, 100))]
    assert lines_after([*steps, (99.0, None)]) == [
        "search: 30 of 100, 10/s, 0:00:07 left", "search: 67 of 100, 2.0/s, 0:00:16 left",
        "search: done in 0:00:50",
    ]  # fmt: skip


def test_a_stage_that_reports_nothing_has_lines_too() -> None:
    steps = [(0.0, ("report and plots", 0, None)), (2.5, None), (20.0, None), (33.0, None)]
    assert lines_after(steps) == ["report and plots: 0:00:02 so far", "report and plots: 0:00:33 so far"]
