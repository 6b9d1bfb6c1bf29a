"""Speed of system rankings from human judgements.

    python benchmarks/studies/speed_rank.py [--data ../shared/data] [--judgements 1000000] [--systems 40]

Wall-clock and CPU seconds of
- all methods but the playoffs on all of WMT 2012, 1,000 bootstrap samples, rank ranges of every one of them
  (goal: 20 s on two cores), and a plain loop over tasks in numpy for the bootstrap alone
- made-up judgements of many systems, every method that is not exponential (goal: 60 s), the file's reading
  apart
- exact feedback arc sets of random tournaments, which run in one circle

Every part is warm: the compiled kernels are loaded first.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from qe_human.feedback_arcs import least_cost_order
from qe_human.judgements.certainty import resampled_tables
from qe_human.judgements.collection import Comparisons
from qe_human.judgements.ranking_report import ranking_report
from qe_human.judgements.reading import read_judgements
from qe_human.ranking_method import RANKINGS, PreferenceMethod, RankingMethod
from qe_human.settings import RankSettings

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    arguments.add_argument("--judgements", type=int, default=1_000_000)
    arguments.add_argument("--systems", type=int, default=40)
    arguments.add_argument("--samples", type=int, default=1000)
    given = arguments.parse_args()
    methods = {name: RANKINGS.get(name)() for name in RANKINGS.names if name != "monte_carlo_playoffs"}
    file = given.data / "human-rankings" / "raw" / "wmt12.RNK_results.csv.gz"
    warm(file, methods)
    wmt12(file, methods, given.samples)
    many(given.judgements, given.systems, given.samples)
    exact()


def warm(file: Path, methods: dict[str, RankingMethod]) -> None:
    pair = next(iter(read_judgements([file]).values()))
    ranking_report(pair, methods, RankSettings(samples=16, ranges=list(methods)))


def wmt12(file: Path, methods: dict[str, RankingMethod], samples: int) -> None:
    judged = timed("WMT 2012: reading 12,339 tasks", lambda: read_judgements([file]))
    settings = RankSettings(samples=samples, ranges=list(methods))
    what = f"WMT 2012: {len(methods)} methods and all statistics, {samples} samples, ranges of every method"
    timed(what, lambda: [ranking_report(pair, methods, settings) for pair in judged.values()])
    default = RankSettings(samples=samples)
    what = "WMT 2012: the same, ranges of the quick methods (default)"
    timed(what, lambda: [ranking_report(pair, methods, default) for pair in judged.values()])
    tasks = next(iter(judged.values())).comparisons
    assert tasks is not None
    few = samples // 10
    ours = seconds(lambda: list(resampled_tables(tasks, few)))
    plain = seconds(lambda: plain_bootstrap(tasks, few))
    print(f"    bootstrap of one pair, {few} samples: {ours:.3f} CPU s; numpy task by task: {plain:.3f}, "
          f"ratio {plain / ours:.0f}")  # fmt: skip


def plain_bootstrap(tasks: Comparisons, samples: int) -> list[np.ndarray]:
    """Draws tasks and adds up their comparisons, one sample at a time."""
    generator = np.random.default_rng(0)
    starts = np.searchsorted(tasks.task, np.arange(tasks.tasks + 1))
    by_task = [tasks.cells[a:b] for a, b in pairwise(starts)]
    size = 2 * len(tasks.systems) ** 2
    tables = []
    for _ in range(samples):
        drawn = generator.integers(0, tasks.tasks, tasks.tasks)
        tables.append(np.bincount(np.concatenate([by_task[task] for task in drawn]), minlength=size))
    return tables


def many(judgements: int, systems: int, samples: int) -> None:
    """A WMT CSV of tasks of five systems, ten judgements each."""
    methods = {}
    for name in RANKINGS.names:
        method = RANKINGS.get(name)()
        if not isinstance(method, PreferenceMethod):
            methods[name] = method
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judged.csv"
        write(path, judgements // 10, systems)
        judged = timed(
            f"{judgements:,} judgements of {systems} systems: reading", lambda: read_judgements([path])
        )
    (pair,) = judged.values()
    what = f"{judgements:,} judgements of {systems} systems: {len(methods)} methods, {samples} samples"
    timed(what, lambda: ranking_report(pair, methods, RankSettings(samples=samples)))


def write(path: Path, tasks: int, systems: int) -> None:
    draw = random.Random(1)
    places = range(1, 6)
    header = ["srclang", "trglang", "srcIndex", "documentId", "segmentId", "judgeId"]
    header += [f"system{k}{what}" for k in places for what in ("Number", "Id")]
    header += [f"system{k}rank" for k in places]
    with path.open("w") as stream:
        stream.write(",".join(header) + "\n")
        for _ in range(tasks):
            shown = draw.sample(range(systems), 5)
            ranks = [min(5, max(1, round(draw.gauss(1 + 4 * s / systems, 1.5)))) for s in shown]
            segment = draw.randrange(3000)
            names = ",".join(f"{s},system{s:03d}" for s in shown)
            stream.write(f"Xish,Yish,{segment},doc,{segment},judge{draw.randrange(60)},{names},")
            stream.write(",".join(map(str, ranks)) + "\n")


def exact() -> None:
    generator = np.random.default_rng(0)
    for systems in (20, 22, 24, 25, 26):
        margins = np.triu(generator.integers(-50, 50, (systems, systems)), 1)
        preferences = (np.maximum(margins, 0) + np.maximum(-margins, 0).T).astype(np.float64)
        timed(
            f"exact feedback arc set, {systems} systems in one circle",
            lambda p=preferences: least_cost_order(p),
        )


def timed(what: str, work: Callable[[], Any]) -> Any:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    print(f"{what}: {time.perf_counter() - wall:.2f} s, {time.process_time() - cpu:.2f} CPU s", flush=True)
    return result


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
