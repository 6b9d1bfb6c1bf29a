"""Speed and memory of the significance core, against alternatives in the same run.

    python benchmarks/bench_significance.py [--segments 1000000]

CPU seconds on one thread (start with OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 for the alternatives'
sake; our kernels use the threads they are told to).
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qe.statistics.metrics.ranking import DeltaAvg
from qe.statistics.resampling import (
    bootstrap_rescored,
    bootstrap_scores,
    randomization_test,
    randomization_tests,
    tukey_hsd,
)
from qe.statistics.result import Measure

Floats = NDArray[np.float64]
COLUMNS = {"bleu": 10, "ter": 2, "length": 2}


def cpu_seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def report(what: str, ours: float, alternative: str, theirs: float, wanted: str) -> None:
    print(f"{what:<62}{ours:>8.3f} s  (wanted: {wanted})")
    print(f"    {alternative}: {theirs:.3f} s, ratio {theirs / ours:.1f}", flush=True)


def bleu(sums: Floats) -> Floats:
    """The aggregation of BLEU without smoothing, enough for its cost."""
    ratios = np.log(np.maximum(sums[..., 2:6], 1e-9) / np.maximum(sums[..., 6:10], 1)).mean(axis=-1)
    return np.asarray(100 * np.exp(ratios + np.minimum(0, 1 - sums[..., 1] / sums[..., 0])))


def rate(sums: Floats) -> Floats:
    return np.asarray(100 * sums[..., 0] / sums[..., 1])


MEASURES = {
    "bleu": Measure(slice(0, 10), bleu),
    "ter": Measure(slice(10, 12), rate),
    "length": Measure(slice(12, 14), rate),
}


def statistics(runs: int, segments: int, seed: int) -> Floats:
    """(runs, segments, 14) counts like those of BLEU, TER and length."""
    return np.random.default_rng(seed).integers(1, 30, (runs, segments, 14)).astype(np.float64)


def shuffles() -> None:
    a, b = statistics(3, 2489, 0), statistics(3, 2489, 1)
    randomization_tests(a, b, MEASURES, samples=10)
    ours = cpu_seconds(lambda: randomization_tests(a, b, MEASURES, samples=10_000))
    theirs = cpu_seconds(lambda: masked_shuffles(a.reshape(-1, 14), b.reshape(-1, 14), 200)) * 50
    report("10,000 shuffles x 7,467 segment-runs x 3 metrics", ours,
           "numpy masks, shuffle by shuffle (200 measured, x 50)", theirs, "0.3 s")  # fmt: skip
    best = cpu_seconds(lambda: multiplied_shuffles(a.reshape(-1, 14), b.reshape(-1, 14), 10_000))
    report("the same", ours, "numpy's best: random bits as float32, times the differences", best, "a third")


def masked_shuffles(a: Floats, b: Floats, samples: int) -> list[float]:
    """Differences of means under shuffles by boolean masks, the way of other tools."""
    rng = np.random.default_rng(0)
    listed = []
    for _ in range(samples):
        heads = rng.random(len(a)) < 0.5
        own = np.where(heads[:, None], b, a).sum(axis=0)
        other = np.where(heads[:, None], a, b).sum(axis=0)
        listed += [
            float(m.aggregate(own[m.columns]) - m.aggregate(other[m.columns])) for m in MEASURES.values()
        ]
    return listed


def multiplied_shuffles(a: Floats, b: Floats, samples: int, block: int = 500) -> list[Floats]:
    """The best NumPy formulation known to us: random bits times the differences, in blocks."""
    rng = np.random.default_rng(0)
    moves, width = (b - a).astype(np.float32), -(-len(a) // 8)
    differences = []
    for start in range(0, samples, block):
        size = min(block, samples - start)
        packed = np.frombuffer(rng.bytes(size * width), np.uint8).reshape(size, width)
        moved = np.unpackbits(packed, axis=1, count=len(a)).astype(np.float32) @ moves
        own, other = a.sum(axis=0) + moved, b.sum(axis=0) - moved
        differences += [
            m.aggregate(own[:, m.columns]) - m.aggregate(other[:, m.columns]) for m in MEASURES.values()
        ]
    return differences


def multiplied_bootstrap(runs: Floats, samples: int, block: int = 100) -> Floats:
    """The best NumPy formulation known to us: segment counts times statistics, in blocks."""
    rng = np.random.default_rng(0)
    n = runs.shape[1]
    table = runs.transpose(1, 0, 2).reshape(n, -1).astype(np.float32)
    scores = []
    for start in range(0, samples, block):
        size = min(block, samples - start)
        drawn = rng.integers(0, n, (size, n), dtype=np.int32) + n * np.arange(size, dtype=np.int32)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float32)
        scores.append(bleu((counts @ table).reshape(size, len(runs), -1)))
    return np.concatenate(scores)


def delta_avg_bootstrap(segments: int, samples: int, alternative_samples: int, wanted: str) -> None:
    rng = np.random.default_rng(segments)
    gold = np.round(rng.uniform(1, 5, segments), 1)
    predicted = gold + rng.normal(0, 1, segments)
    metric = DeltaAvg()
    bootstrap_rescored(lambda c: metric.resample(gold, predicted, c), segments, samples=2)
    ours = cpu_seconds(
        lambda: bootstrap_rescored(lambda c: metric.resample(gold, predicted, c), segments, samples=samples)
    )

    def alternative() -> None:
        for _ in range(alternative_samples):
            rows = rng.integers(0, segments, segments)
            sorted_delta_avg(gold[rows], predicted[rows])

    theirs = cpu_seconds(alternative) * samples / alternative_samples
    report(f"{samples:,}-fold bootstrap of DeltaAvg, {segments:,} segments", ours,
           f"numpy sort and one pass per n ({alternative_samples} measured)", theirs, wanted)  # fmt: skip


def sorted_delta_avg(gold: Floats, predicted: Floats) -> float:
    """Equation 14 with prefix sums, one vector operation per n."""
    ranked = gold[np.argsort(-predicted)]
    heads = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    half = len(ranked) // 2
    return float(
        np.mean([heads[np.arange(1, n) * (len(ranked) // n) - 1].mean() for n in range(2, half + 1)])
        - heads[-1]
    )


def delta_avg_large(segments: int) -> None:
    rng = np.random.default_rng(0)
    gold = np.round(rng.uniform(1, 5, segments), 1)
    predicted = gold + rng.normal(0, 1, segments)
    ours = cpu_seconds(lambda: DeltaAvg().score(gold, predicted))
    small = 20_000
    theirs = cpu_seconds(lambda: sorted_delta_avg(gold[:small], predicted[:small])) * (segments / small) ** 2
    report(f"DeltaAvg of {segments:,} segments", ours,
           f"quadratic, from {small:,} segments", theirs, "2 s")  # fmt: skip


def bootstraps(count: int) -> None:
    runs = statistics(count, 2489, 0)[..., :10]
    bootstrap_scores(runs[:, :50], bleu, samples=2)
    ours = cpu_seconds(lambda: bootstrap_scores(runs, bleu, samples=10_000))

    def alternative() -> None:
        rng = np.random.default_rng(0)
        for _ in range(200):
            bleu(runs[:, rng.integers(0, 2489, 2489)].sum(axis=1))

    theirs = cpu_seconds(alternative) * 50
    report(f"10,000 bootstrap samples, {count} runs x 2,489 segments, BLEU", ours,
           "numpy indexing, sample by sample (200 measured, x 50)", theirs, "-")  # fmt: skip
    best = cpu_seconds(lambda: multiplied_bootstrap(runs, 10_000))
    report("the same", ours, "numpy's best: counts of drawn segments @ statistics, float32", best, "a third")


def many_systems() -> None:
    systems = {f"s{i}": statistics(1, 2489, i)[0, :, 10:12] for i in range(10)}
    tukey_hsd({name: s[:20] for name, s in systems.items()}, rate, samples=2)
    ours = cpu_seconds(lambda: tukey_hsd(systems, rate, samples=1000))
    pairs = cpu_seconds(
        lambda: [randomization_test(systems["s0"], systems["s1"], rate, samples=1000) for _ in range(45)]
    )
    report("Tukey HSD, 10 systems x 2,489 segments, 1,000 shuffles", ours,
           "45 separate randomization tests (they leave the error to a correction)", pairs, "-")  # fmt: skip


def memory(segments: int) -> None:
    """Peak resident memory of a comparison in a process of its own."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--one-comparison", str(segments)],
        check=True,
        capture_output=True,
        text=True,
    )
    kibibytes, seconds, p = done.stdout.split()
    size = 2 * segments * 14 * 8 / 2**30
    print(
        f"2 systems x {segments:,} segments x 10,000 shuffles: peak {int(kibibytes) / 2**20:.2f} GiB"
        f" (wanted: 2 GiB; the statistics alone {size:.2f} GiB), {float(seconds):.1f} s user CPU,"
        f" {time.perf_counter() - started:.1f} s wall, p {p}"
    )


def one_comparison(segments: int) -> None:
    a, b = (statistics_in_blocks(segments, seed) for seed in (0, 1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    results = randomization_tests(a, b, MEASURES, samples=10_000)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(usage.ru_maxrss, usage.ru_utime - before, results["bleu"].p)


def statistics_in_blocks(segments: int, seed: int) -> Floats:
    """Filled piece by piece, so that making the data does not set the peak."""
    rng = np.random.default_rng(seed)
    array = np.empty((1, segments, 14))
    for first in range(0, segments, 10_000):
        piece = array[0, first : first + 10_000]
        piece[:] = rng.integers(1, 30, piece.shape)
    return array


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--one-comparison", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one_comparison:
        one_comparison(arguments.one_comparison)
        return
    shuffles()
    bootstraps(1)
    bootstraps(6)
    many_systems()
    delta_avg_bootstrap(422, 1000, 20, "0.2 s")
    delta_avg_bootstrap(100_000, 1000, 1, "60 s")
    delta_avg_large(arguments.segments)
    memory(arguments.segments)


if __name__ == "__main__":
    main()
