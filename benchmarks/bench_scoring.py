"""Batch scoring: start-up, segments per second on one core and two, repeats, memory.

python benchmarks/bench_scoring.py                # 60,000 segments
python benchmarks/bench_scoring.py --rows 1000000 --cases "two processes"   # memory does not grow
python benchmarks/bench_scoring.py --model DIR    # another model than the demo's
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qe.config import experiment
from qe.getting_started.demo.generation import generate
from qe.getting_started.demo.run import EXPERIMENT
from qe.training.check import check
from qe.training.train import train

CASES = {
    "one process": ("distinct", "--workers", "1"),
    "two processes": ("distinct", "--workers", "2"),
    "half repeated": ("repeated", "--workers", "1"),
    "half repeated, --no-cache": ("repeated", "--workers", "1", "--no-cache"),
    "with --interval 0.9": ("distinct", "--workers", "1", "--interval", "0.9"),
}


@dataclass(frozen=True)
class Job:
    """What one `qe score` took: wall and CPU seconds (all processes), largest process in MiB."""

    wall: float
    cpu: float
    peak: float


def trained_model(folder: Path) -> Path:
    """The demo's 17 features and RBF-SVR, trained on 1,800 rows."""
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder / 'mlflow.db'}"
    (folder / "mlflow.yaml").write_text("artifact_root: artifacts\n")
    os.chdir(folder)
    generate(folder / "data", train=1800, test=80)
    best = "learner.space={C: [4], gamma: [0.01], epsilon: [0.2]}"
    loaded = experiment.load(EXPERIMENT, data_root=folder, overrides=[best, "tracking.register=false"])
    return train(check(loaded), folder / "run", cache=folder / "cache").output / "model"


def write_rows(path: Path, examples: Path, rows: int, repeated: float, seed: int = 1) -> None:
    """`rows` segments of the examples' words; a share `repeated` stands further above, too."""
    generator = random.Random(seed)
    lines = [line.split("\t") for line in examples.read_text("utf-8").splitlines()[1:]]
    sides = [[line[-2].split() for line in lines], [line[-1].split() for line in lines]]
    kept: list[str] = []
    with path.open("w", encoding="utf-8") as stream:
        stream.write("source\ttarget\n")
        for _ in range(rows):
            if kept and generator.random() < repeated:
                stream.write(generator.choice(kept))
                continue
            text = "\t".join(_mixed(generator, side) for side in sides) + "\n"
            if len(kept) < 20_000:
                kept.append(text)
            stream.write(text)


def _mixed(generator: random.Random, texts: Sequence[list[str]]) -> str:
    one, other = generator.choice(texts), generator.choice(texts)
    return " ".join(one[: max(1, len(one) // 2)] + other[len(other) // 2 :])


def score(model: Path, rows: Path, output: Path, *more: str) -> Job:
    """Runs `qe score` in a process of its own."""
    # Not ru_maxrss of the process itself: it begins with what the benchmark had when it forked.
    script = (
        "import atexit, re, resource, sys; from pathlib import Path; from qe.cli import main;"
        "own = lambda: int(re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1]);"
        "workers = lambda: resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss;"
        "atexit.register(lambda: print(max(own(), workers()))); main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, "score", "--model", str(model), "--input", str(rows)]
    command += ["--output", str(output), "--overwrite", "--quiet", *more]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Job(wall, cpu, int(done.stdout.split()[-1]) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--examples", type=Path, help="TSV with source and target last; default: the demo's")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = given.model or trained_model(folder)
        if given.examples is None and not (folder / "data").exists():
            generate(folder / "data", pairs=200, train=80, test=20)
        examples = given.examples or folder / "data" / "new.tsv"
        measure(model, folder, examples, given.rows, given.cases)


def measure(model: Path, folder: Path, examples: Path, rows: int, chosen: Sequence[str]) -> None:
    distinct, tiny, repeated = folder / "distinct.tsv", folder / "one.tsv", folder / "repeated.tsv"
    write_rows(distinct, examples, rows, 0.0)
    write_rows(repeated, examples, rows, 0.5)
    write_rows(tiny, examples, 1, 0.0)
    score(model, tiny, folder / "o.tsv", "--workers", "1")  # caches of compiled code
    start = min(
        (score(model, tiny, folder / "o.tsv", "--workers", "1") for _ in range(3)), key=lambda j: j.wall
    )
    print(
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores: wall times are of a shared machine"
    )
    print(f"start-up and one segment: {start.wall:.2f} s wall, {start.cpu:.2f} s CPU, {start.peak:.0f} MiB")
    jobs = {}
    for name in chosen:
        kind, *more = CASES[name]
        path = repeated if kind == "repeated" else distinct
        job = jobs[name] = score(model, path, folder / "o.tsv", *more)
        by_cpu, by_wall = rows / (job.cpu - start.cpu), rows / (job.wall - start.wall)
        print(
            f"{name:26} {by_wall:9,.0f} segments/s wall, {by_cpu:9,.0f} per CPU second,"
            f" peak {job.peak:,.0f} MiB ({job.peak - start.peak:+,.0f} over start-up)"
        )
    if not {"one process", "two processes"} <= set(jobs):
        return
    one, two = jobs["one process"], jobs["two processes"]
    efficiency = (one.wall - start.wall) / (two.wall - start.wall) / 2
    print(
        f"two cores against one: {efficiency:.0%} parallel efficiency by wall time;"
        f" CPU time x {(two.cpu - start.cpu) / (one.cpu - start.cpu):.2f}"
    )


if __name__ == "__main__":
    main()
