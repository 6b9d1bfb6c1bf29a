"""Tree kernels: Gram matrix of as many trees as WMT12's segments, and one new row.

    python benchmarks/studies/speed_tree_kernels.py [--trees 2254] [--data ../shared/data]

Subset tree kernel on the Penn Treebank sample; partial tree kernel on the development parts of the English
and Spanish treebanks, sentences of 10 to 60 words, which stand for the texts of a translation task. Prints
seconds, CPU seconds (of both cores together: what counts on a machine with other work), whether a second run
gives the same bits, and what the definitions written down in Python (60 pairs of trees) would take for all.
Kernels are compiled beforehand.
"""

import argparse
import gzip
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from features.syntax.trees import Trees
from qe_papers.learners.svr_tree_kernels import PartialTreeKernel, SubsetTreeKernel, TreeKernel

ROOT = Path(__file__).resolve().parents[2]
PAIRS = 60  # of trees whose kernel is computed by plain recursion too
TO_REACH = 60.0  # seconds of a Gram matrix


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--trees", type=int, default=2254)
    arguments.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = arguments.parse_args()
    folder = given.data / "treebanks"
    english, spanish = conllu(folder / "en_ewt-dev.conllu.gz"), conllu(folder / "es_gsd-dev.conllu.gz")
    for name, kernel, read in (
        ("subset trees, en_ptb-sample", SubsetTreeKernel(), lambda: penn(folder)),
        ("partial trees, en_ewt-dev", PartialTreeKernel(), lambda: Trees.from_dependencies(english)),
        ("partial trees, es_gsd-dev", PartialTreeKernel(), lambda: Trees.from_dependencies(spanish)),
    ):
        trees, seconds, _ = timed(read)
        print(f"{name}: {len(trees)} trees read in {seconds:.1f} s")
        measure(kernel, trees.take(np.arange(given.trees) % len(trees)))


def measure(kernel: TreeKernel, trees: Trees) -> None:
    kernel.gram(trees.take(range(3)))
    gram, seconds, cpu = timed(lambda: kernel.gram(trees))
    again = kernel.gram(trees.take(range(len(trees))))
    print(
        f"  Gram matrix of {len(trees)} trees ({trees.sizes.mean():.0f} nodes, at most {trees.sizes.max()}): "
        f"{seconds:.1f} s, {cpu:.1f} CPU s (to reach: {TO_REACH:.0f} s); the same bits again: "
        f"{np.array_equal(gram, again)}"
    )
    new = trees.take([0])
    kernel.between(new, trees)
    row, seconds, _ = timed(lambda: kernel.between(trees.take([len(trees) // 2]), trees))
    print(
        f"  one new tree with all: {1000 * seconds:.1f} ms; as in the Gram matrix: "
        f"{np.array_equal(row[0], gram[len(trees) // 2])}"
    )
    pairs = np.random.default_rng(0).integers(len(trees), size=(PAIRS, 2))
    outcome, seconds, plain = timed(lambda: [recursive(kernel, trees, i, j) for i, j in pairs])
    own = kernel.own_values(trees)
    expected = [gram[i, j] * np.sqrt(own[i] * own[j]) for i, j in pairs]
    whole = plain / PAIRS * len(trees) ** 2 / 2
    print(
        f"  plain recursion in Python: {whole / 3600:.1f} CPU hours for all, from {PAIRS} pairs; ratio "
        f"{whole / cpu:.0f}; the same to 12 digits: {np.allclose(outcome, expected, rtol=1e-12, atol=0)}"
    )


def recursive(kernel: TreeKernel, trees: Trees, i: int, j: int) -> float:
    """K(i, j), not normalised, by the definitions: every pair of nodes, children first."""
    left, right = range(*trees.offsets[i : i + 2]), range(*trees.offsets[j : j + 2])
    kinds = trees.cached(("benchmark", kernel), lambda: kernel.kinds(trees)[0])
    delta: dict[tuple[int, int], float] = {}
    for a in reversed(left):
        for b in reversed(right):
            if kinds[a] == kinds[b] >= 0:
                delta[a, b] = _delta(kernel, trees, a, b, delta)
    return sum(delta.values())


def _delta(kernel: TreeKernel, trees: Trees, a: int, b: int, delta: dict[tuple[int, int], float]) -> float:
    one = [trees.first_child[a] + k for k in range(trees.arities[a])]
    other = [trees.first_child[b] + k for k in range(trees.arities[b])]
    if isinstance(kernel, SubsetTreeKernel):
        values = [1 + delta.get(pair, 0.0) for pair in zip(one, other, strict=True)]
        return float(kernel.decay * np.prod(values))
    assert isinstance(kernel, PartialTreeKernel)
    decay, total = kernel.decay, kernel.decay**2
    below = np.array([[delta.get((c, d), 0.0) for d in other] for c in one]).reshape(len(one), len(other))
    ending = below * decay**2
    while ending.any():
        total += float(ending.sum())
        longer = np.zeros_like(ending)
        for x, y in np.ndindex(*ending.shape):
            if below[x, y]:
                powers = decay ** (x - np.arange(x)[:, np.newaxis] + y - np.arange(y))
                longer[x, y] = below[x, y] * float((powers * ending[:x, :y]).sum())
        ending = longer
    return kernel.depth_decay * total


def penn(folder: Path) -> Trees:
    with gzip.open(folder / "en_ptb-sample-train.mrg.gz", "rt", encoding="utf-8") as stream:
        return Trees.from_brackets(re.split(r"\n(?=\()", stream.read().strip()), plain=True)


def conllu(path: Path) -> list[str]:
    """Sentences of 10 to 60 words."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        blocks = stream.read().strip().split("\n\n")
    words = [sum(line.split("\t", 1)[0].isdigit() for line in block.split("\n")) for block in blocks]
    return [block for block, n in zip(blocks, words, strict=True) if 10 <= n <= 60]


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, seconds, CPU seconds of all threads."""
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - cpu


if __name__ == "__main__":
    main()
