"""`qe compare` on the MultEval example, with process start, against sacrebleu's command.

    python benchmarks/bench_compare.py [--skip-sacrebleu] [--data ../shared/data]

2 systems x 3 runs, BLEU + TER + length, 10,000 virtual test sets, 10,000 shuffles. Prints user CPU seconds
with a warm numba cache, the ratio to MultEval's 22.9 s (three systems) scaled to two (measured elsewhere on
the same kind of machine: golden/README.md), and to sacrebleu's paired test (BLEU and TER, 1,000 shuffles) of
one pair of runs, measured here (takes a minute). Also the memory and time of 1,000,000 artificial segments.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from features.storage.files import read_lines

ROOT = Path(__file__).resolve().parent.parent
BINARIES = Path(sys.executable).parent
MULTEVAL = 22.9 * 2 / 3
SYSTEMS = ("baseline", "sys1")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--skip-sacrebleu", action="store_true")
    arguments.add_argument("--million", action="store_true", help="also compare on 1,000,000 segments")
    arguments.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = arguments.parse_args()
    folder = given.data / "golden" / "multeval"
    ours = compare(folder)
    print(f"qe compare: {ours:.2f} s user CPU; MultEval, scaled: {MULTEVAL:.1f} s", flush=True)
    print(f"ratio to MultEval: {MULTEVAL / ours:.1f} (to reach: 3)", flush=True)
    if not given.skip_sacrebleu:
        tool = sacrebleu(folder)
        print(f"sacrebleu, one pair of runs: {tool:.1f} s user CPU; three pairs: {3 * tool:.1f} s")
        print(f"ratio to sacrebleu for three pairs: {3 * tool / ours:.1f}", flush=True)
        pair = compare(folder, runs=1)
        print(f"qe compare, one pair of runs: {pair:.2f} s; ratio: {tool / pair:.1f} (to reach: 20)")
    if given.million:
        million(folder)


def compare(folder: Path, runs: int = 3) -> float:
    """User CPU seconds of the second run (the first may compile)."""
    command = [
        str(BINARIES / "qe"),
        "compare",
        "--json",
        "--tokenize",
        "none",
        "--metrics",
        "bleu",
        "ter",
        "length",
    ]
    command += ["--references", str(folder / "refs.test2010.lc.tok.en.0.gz"), "--samples", "10000"]
    for system in SYSTEMS:
        files = [str(folder / f"hyps.lc.tok.en.{system}.opt{run}.gz") for run in range(runs)]
        command += ["--system", f"{system}={','.join(files)}"]
    user_seconds(command)
    return user_seconds(command)


def sacrebleu(folder: Path) -> float:
    with tempfile.TemporaryDirectory() as name:
        names = ("refs.test2010.lc.tok.en.0", *(f"hyps.lc.tok.en.{system}.opt0" for system in SYSTEMS))
        plain = [unpacked(folder / f"{stem}.gz", Path(name)) for stem in names]
        command = [
            str(BINARIES / "sacrebleu"),
            plain[0],
            "-i",
            *plain[1:],
            "-m",
            "bleu",
            "ter",
            "-tok",
            "none",
        ]
        command += ["--force", "--paired-ar", "--paired-ar-n", "10000", "-f", "json"]
        return user_seconds(command)


def million(folder: Path) -> None:
    """1 run per system, 402 copies of the example: time and peak memory."""
    with tempfile.TemporaryDirectory() as name:
        names = ("refs.test2010.lc.tok.en.0", *(f"hyps.lc.tok.en.{system}.opt0" for system in SYSTEMS))
        reference, *outputs = (unpacked(folder / f"{stem}.gz", Path(name), 402) for stem in names)
        command = [
            str(BINARIES / "qe"),
            "compare",
            "--json",
            "--tokenize",
            "none",
            "--metrics",
            "bleu",
            "--references",
            reference,
        ]
        for system, output in zip(SYSTEMS, outputs, strict=True):
            command += ["--system", f"{system}={output}"]
        seconds = user_seconds(command)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    print(
        f"1,000,578 segments, BLEU: {seconds:.0f} s user CPU, peak memory of any child so far {peak:.2f} GiB"
    )


def unpacked(path: Path, folder: Path, copies: int = 1) -> str:
    target = folder / path.stem
    text = "".join(f"{line}\n" for line in read_lines(path))
    target.write_text(text * copies, "utf-8")
    return str(target)


def user_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    json.loads(result.stdout)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


if __name__ == "__main__":
    main()
