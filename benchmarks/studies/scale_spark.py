"""Spark against the local engine on the same rows: cost of session, executor, segment.

python benchmarks/studies/scale_spark.py                         # 60,000 segments, local[2]
python benchmarks/studies/scale_spark.py --rows 200000 --master 'local-cluster[2,1,1024]'
python benchmarks/studies/scale_spark.py --ngrams                # also n-gram counting, order 5
python benchmarks/studies/scale_spark.py --features EXPERIMENT   # extraction for training alone

CPU seconds are of this process and all it started (Java and Python workers), from /proc: the machine may be
busy with other work, which wall time shows and CPU time hardly.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from features.basics.array_types import FloatArray
from features.basics.progress import silent
from features.core.extractor import FittedExtractor
from features.core.feature_set import checked
from features.resources.ngrams import NgramCounts
from features.text.tokens import Tokens
from qe.config.experiment import load
from qe.resources.bundle_source import default_cache
from qe.scoring.jobs import score_file
from qe.scoring.settings import JobSettings
from qe.scoring.spark import score_table, spark_session
from qe.scoring.spark_features import Executors, count
from qe.training.check import check
from qe.training.preparation import prepare

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench_scoring import trained_model, write_rows


@dataclass(frozen=True)
class Cost:
    """Wall and CPU seconds of a stretch of work."""

    wall: float
    cpu: float


def cpu_seconds() -> float:
    """Processor time of this process, its living descendants, and those they have waited for."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def cost(work: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), cpu_seconds()
    work()
    return Cost(time.perf_counter() - wall, cpu_seconds() - cpu)


def report(name: str, given: Cost, rows: int = 0) -> None:
    rate = f" {rows / given.wall:9,.0f} /s wall {rows / given.cpu:9,.0f} per CPU second" if rows else ""
    print(f"{name:44} {given.wall:7.1f} s wall {given.cpu:7.1f} s CPU{rate}", flush=True)


def scoring(folder: Path, model: Path, rows: int, master: str) -> None:
    examples = folder / "data" / "new.tsv"
    tiny, table = folder / "tiny.tsv", folder / "rows.tsv"
    write_rows(tiny, examples, 2, 0.0)
    write_rows(table, examples, rows, 0.0)
    score_file(model, [tiny], folder / "warm.tsv", JobSettings(workers=1))
    one = cost(lambda: score_file(model, [table], folder / "one.tsv", JobSettings(workers=1)))
    two = cost(lambda: score_file(model, [table], folder / "two.tsv", JobSettings(workers=2)))
    report("local, one process", one, rows)
    report("local, two processes", two, rows)
    with ExitStack() as stack:
        opened: list[Any] = []
        start = cost(lambda: opened.append(stack.enter_context(spark_session(master, quiet=True))))
        report(f"Spark session ({master})", start)
        on_spark(opened[0], folder, model, rows, two)


def on_spark(session: Any, folder: Path, model: Path, rows: int, local: Cost) -> None:
    def score(name: str, number: int) -> Cost:
        path, output = str(folder / f"{name}.tsv"), str(folder / f"{name}.{number}.tsv")
        return cost(lambda: score_table(session, model, path, output))

    first, again = score("tiny", 1), score("tiny", 2)
    report("Spark, first job (2 rows: model shipped, loaded)", first)
    report("Spark, same job again (scheduling alone)", again)
    score("rows", 1)  # every executor has started its Python processes before rates are taken
    job = score("rows", 2)
    report("Spark, all rows", job, rows)
    marginal = Cost(job.wall - again.wall, job.cpu - again.cpu)
    report("Spark, all rows, less scheduling", marginal, rows)
    print(f"CPU seconds per row, Spark / local with two processes: {marginal.cpu / local.cpu:.2f}")


def counting(tokens: int, master: str) -> None:
    generator = random.Random(1)
    words = [f"w{int(generator.paretovariate(0.6)) % 50_000}" for _ in range(tokens)]
    text = Tokens.from_lists([words[i : i + 25] for i in range(0, tokens, 25)])
    NgramCounts.from_tokens(Tokens.from_lists([["a", "b"]]), order=2)
    local = cost(lambda: NgramCounts.from_tokens(text, order=5))
    report("n-grams of order 5, local", local, tokens)
    with spark_session(master, quiet=True) as session:
        count(session, Tokens.from_lists([["a", "b"]]), order=5)
        spark = cost(lambda: count(session, text, order=5))
    report("n-grams of order 5, Spark (warm)", spark, tokens)
    print(f"CPU seconds per token, Spark / local: {spark.cpu / local.cpu:.1f}")


def extraction(path: Path, master: str) -> None:
    """Families that learn nothing, over the training split: here and on the executors."""
    data = prepare(check(load(path)), default_cache(), silent)
    feature_set, segments = data.extraction.feature_set, data.training.segments
    chosen = [i for i, one in enumerate(feature_set.extractors) if not isinstance(one, FittedExtractor)]
    here: dict[int, FloatArray] = {}
    local = cost(lambda: here.update({i: checked(feature_set.extractors[i], segments) for i in chosen}))
    report(
        f"local, {sum(map(len, (feature_set.extractors[i].names for i in chosen)))} features",
        local,
        len(segments),
    )
    with spark_session(master, quiet=True) as session:
        executors = Executors(session, data.bundle)
        start = cost(lambda: executors(feature_set, chosen[0], segments.take(np.arange(2))))
        report("Spark, 2 rows (resources shipped and loaded)", start)
        job = cost(lambda: executors(feature_set, chosen[0], segments))
        report("Spark", job, len(segments))
        same = all(
            np.array_equal(here[i], executors(feature_set, i, segments), equal_nan=True) for i in chosen
        )
    print(f"the same to the last bit: {same}; CPU seconds, Spark / local: {job.cpu / local.cpu:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--ngrams", type=int, nargs="?", const=2_000_000, help="count this many tokens too")
    parser.add_argument("--features", type=Path, metavar="EXPERIMENT")
    given = parser.parse_args()
    if given.features:
        extraction(given.features, given.master)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = trained_model(folder)
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        scoring(folder, given.model or model, given.rows, given.master)
        if given.ngrams:
            counting(given.ngrams, given.master)


if __name__ == "__main__":
    main()
