"""Exactly-once output: scoring jobs killed at random moments, resumed, and compared byte for byte.

python benchmarks/bench_kill.py --model DIR --input FILE     # 100 kills
python benchmarks/bench_kill.py --model DIR --input FILE --kills 20 --workers 1

A kill (SIGKILL) hits the job and its workers after a random share of the time that an unharmed job takes;
the job is resumed until it comes to its end, then the next one begins, until all kills are spent. Lost,
repeated or torn rows would change the bytes. Jobs are forked from a process that has loaded the code
already, so that the kills fall into the work and not into the start-up.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from qe.scoring import score_file


def start(given: argparse.Namespace, output: Path, resume: bool) -> int:
    """A job in a process group of its own; its process id."""
    child = os.fork()
    if child:
        return child
    os.setsid()
    code = 1
    try:
        score_file(
            given.model, [given.input], output, resume=resume, workers=given.workers, chunk=given.chunk
        )
        code = 0
    except BaseException:
        traceback.print_exc()
    os._exit(code)


def ended(child: int, within: float) -> bool:
    """Whether the job ends by itself within so many seconds; otherwise it is killed."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if status:
                raise SystemExit(f"the job ended with status {status}")
            return True
        time.sleep(0.001)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # before its setsid
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--chunk", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "whole.tsv"
        for _ in range(2):  # the first one compiles
            started = time.monotonic()
            ended(start(given, whole, False), 600)
            unharmed = time.monotonic() - started
        print(f"an unharmed job takes {unharmed:.2f} s", flush=True)
        sys.exit(1 if torture(given, whole, Path(name) / "out.tsv", unharmed) else 0)


def torture(given: argparse.Namespace, whole: Path, output: Path, unharmed: float) -> int:
    """Spends the kills; how many outputs differ from the unharmed one."""
    generator = random.Random(given.seed)
    partial = output.with_name(output.name + ".partial")
    kills = during = jobs = different = 0
    while kills < given.kills or partial.is_dir() or not jobs:
        patience = generator.uniform(0.0, 0.8) * unharmed if kills < given.kills else 600.0
        if not ended(start(given, output, partial.is_dir()), patience):
            kills += 1
            during += any(partial.glob("*.piece"))
            continue
        jobs += 1
        different += output.read_bytes() != whole.read_bytes()
        output.unlink()
    print(
        f"{kills} kills, {during} of them with chunks finished; {jobs} jobs came to their end;"
        f" {different} outputs differ from the unharmed one"
    )
    return different


if __name__ == "__main__":
    main()
