"""Mutation fuzzing of all loaders of files: no traceback, no crash, no hang.

python benchmarks/fuzz_loaders.py                               # 60 seconds for each target
python benchmarks/fuzz_loaders.py --seconds 10 --only pipeline  # of the targets whose names hold it
python benchmarks/fuzz_loaders.py --list

Files are made by this project from artificial data. In a copy of each, bits, bytes, numbers, keys, lines,
shapes and types are changed; checksums are brought up to date if whoever changes a file could do so. Each
target is loaded, and used, in a process of its own. What is refused in one message and what still loads are
right; any other exception, the death of the process and 60 seconds of work on one case are faults. Prints
counts per target and, at the end, every fault with the mutation that leads to it (`--seed` repeats them). The
exit code is 1 if there are any.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.attacks.fuzzing import Outcome, Target, fuzz, summed_up
from tests.attacks.readers import readers
from tests.attacks.targets import stored


def targets(folder: Path, wanted: list[str]) -> Iterator[Target]:
    for target in chain(readers(folder), stored(folder)):
        if not wanted or any(word in target.name for word in wanted):
            yield target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each target (60)")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="targets named so")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="name the targets")
    given = parser.parse_args()
    total = Outcome()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for target in targets(scratch, given.only):
            if given.list:
                print(target.name)
                continue
            place = scratch / "fuzzed"
            place.mkdir()
            outcome = fuzz(target, place, seconds=given.seconds, seed=given.seed)
            shutil.rmtree(place)
            print(f"{target.name:32} {outcome}", flush=True)
            for fault, count in summed_up(outcome.faults).most_common():
                print(f"    {count:5} x {fault}", flush=True)
            total.refused += outcome.refused
            total.accepted += outcome.accepted
            total.faults += outcome.faults
    print(f"{'all':32} {total}")
    for fault in total.faults:
        print(f"    {fault}")
    sys.exit(1 if total.faults else 0)


if __name__ == "__main__":
    main()
