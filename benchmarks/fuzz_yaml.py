"""Fuzzes experiment files: each mutation is accepted, or refused in one message.

    python benchmarks/fuzz_yaml.py --seconds 60 --seed 1

Prints how many were accepted and refused; every other end is printed whole, and makes the exit code 1.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.attacks.experiments import fuzzed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        outcome = fuzzed(arguments.seconds, arguments.seed, Path(folder))
    for fault in outcome.faults[:10]:
        print(fault, file=sys.stderr)
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(outcome.counts.items()))
    total, seconds = sum(outcome.counts.values()), arguments.seconds
    print(f"{total:,} files in {seconds:.0f} s: {counts}; {len(outcome.faults)} faults")
    sys.exit(1 if outcome.faults else 0)


if __name__ == "__main__":
    main()
