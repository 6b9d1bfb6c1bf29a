"""TER: the numba kernel against sacrebleu's Python on the same segments, in the same process.

    python benchmarks/bench_ter.py [--segments 400] [--data ../shared/data]

Prints user CPU seconds, the ratio, and on how many segments the edits differ (sacrebleu departs from tercom
when a block is moved within its own span, and in its beam).
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sacrebleu.metrics.lib_ter import translation_edit_rate

from features.edits.ter import ter
from features.storage.files import read_lines
from features.text.tokens import Tokens

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--segments", type=int, default=400)
    arguments.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = arguments.parse_args()
    folder = given.data / "golden" / "multeval"
    reference = words(folder / "refs.test2010.lc.tok.en.0.gz")
    hypothesis = words(folder / "hyps.lc.tok.en.sys1.opt1.gz")
    columns = Tokens.from_lists(hypothesis), Tokens.from_lists(reference)
    first = np.arange(given.segments)
    ter(columns[0].take(first[:1]), columns[1].take(first[:1]))  # load the compiled kernel

    whole = timed(lambda: ter(*columns).edits)
    part = timed(lambda: ter(columns[0].take(first), columns[1].take(first)).edits)
    pairs = list(zip(hypothesis, reference, strict=True))[: given.segments]
    tool = timed(lambda: [translation_edit_rate(left, right)[0] for left, right in pairs])

    print(f"here, all {len(hypothesis)} segments: {whole[1]:.3f} s")
    print(f"here, {given.segments} segments: {part[1]:.3f} s; sacrebleu: {tool[1]:.3f} s")
    print(f"ratio: {tool[1] / part[1]:.0f} (to reach: 20)")
    print(f"segments with other edits: {int(np.sum(part[0] != np.array(tool[0])))} of {given.segments}")


def words(path: Path) -> list[list[str]]:
    return [line.split() for line in read_lines(path)]


def timed(work):  # type: ignore[no-untyped-def]
    start = time.process_time()
    return work(), time.process_time() - start


if __name__ == "__main__":
    main()
