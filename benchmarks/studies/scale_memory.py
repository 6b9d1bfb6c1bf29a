"""Peak memory of `qe score` by rows: a table, a Parquet folder, and known rows.

python benchmarks/studies/scale_memory.py --model output/demo/model --examples output/demo/data/new.tsv
python benchmarks/studies/scale_memory.py --model DIR --examples FILE --rows 100000 10000000
python benchmarks/studies/scale_memory.py --model DIR --examples FILE --case "Parquet to zstd"
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

PART = 100_000  # rows of a Parquet file


@dataclass(frozen=True)
class Job:
    """What one `qe score` took: CPU seconds, and the resident set of its only process in MiB."""

    cpu: float
    peak: float


def rows_of(examples: Path, rows: int) -> Iterator[tuple[str, str]]:
    """Distinct pairs: a number, and the texts of the examples over and over."""
    lines = [line.split("\t") for line in examples.read_text("utf-8").splitlines()]
    source, target = lines[0].index("source"), lines[0].index("target")
    for number, line in enumerate(itertools.islice(itertools.cycle(lines[1:]), rows)):
        yield f"{number} {line[source]}", f"{number} {line[target]}"


def write(folder: Path, examples: Path, rows: int) -> tuple[Path, Path]:
    """A table, and a folder of Parquet files with the same rows."""
    table, parts = folder / f"{rows}.tsv", folder / f"{rows}"
    parts.mkdir()
    with table.open("w", encoding="utf-8") as file:
        file.write("source\ttarget\n")
        pairs = rows_of(examples, rows)
        for part in range(0, rows, PART):
            some = list(itertools.islice(pairs, PART))
            file.writelines(f"{source}\t{target}\n" for source, target in some)
            sources, targets = zip(*some, strict=True)
            pq.write_table(pa.table({"source": sources, "target": targets}), parts / f"{part:09d}.parquet")
    return table, parts


def scored(*arguments: object) -> Job:
    """Runs `qe score` in a process of its own; the kernel says what it took."""
    command = [sys.executable, "-m", "qe", "score", "--quiet", "--workers", "1", *map(str, arguments)]
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return Job(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


TABLE, FOLDER, KNOWN = "TSV", "Parquet to zstd", "Parquet to zstd, --reuse-scores"


def measure(model: Path, examples: Path, counts: Sequence[int], cases: Sequence[str]) -> None:
    """Prints a line for every case and number of rows."""
    print(f"{'case':28} {'rows':>12} {'CPU s':>8} {'MiB':>6} {'beside the first':>17}")
    first: dict[str, float] = {}
    for rows in counts:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            table, parts = write(folder, examples, rows)
            given = {
                TABLE: ["-i", table, "-o", folder / "a.tsv"],
                FOLDER: ["-i", parts, "-o", folder / "b.tsv.zst"],
                KNOWN: ["-i", parts, "-o", folder / "c.tsv.zst", "--reuse-scores", folder / "a.tsv"],
            }
            for case in cases:
                job = scored("-m", model, *given[case])
                ratio = job.peak / first.setdefault(case, job.peak)
                print(f"{case:28} {rows:12,} {job.cpu:8.1f} {job.peak:6.0f} {ratio:17.3f}", flush=True)


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--examples", type=Path, required=True, help="TSV with the columns source and target")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000], help="rows of the jobs")
    parser.add_argument(
        "--case",
        action="append",
        choices=[TABLE, FOLDER, KNOWN],
        help="repeatable; default: a table, and a folder with --reuse-scores",
    )
    given = parser.parse_args()
    cases = given.case or [TABLE, KNOWN]
    if KNOWN in cases and TABLE not in cases[: cases.index(KNOWN)]:
        parser.error(f"'{KNOWN}' reads what '{TABLE}' wrote: ask for both")
    measure(given.model, given.examples, given.rows, cases)


if __name__ == "__main__":
    main()
