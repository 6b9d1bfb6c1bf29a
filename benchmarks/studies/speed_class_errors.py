"""Class errors of long text: the numba kernel against plain Python, same run.

python benchmarks/studies/speed_class_errors.py [--segments 2000] [--seed 0]
"""

import argparse
import random
import time

import numpy as np

from features.edits.class_errors import class_errors
from features.text.tokens import Tokens

Words = list[str]


def alignment(hypothesis: Words, reference: Words) -> tuple[list[str], list[str]]:
    """Edits of each word: match or substitution before deletion before insertion, from the end."""
    rows, columns = len(reference), len(hypothesis)
    cost = [[i + j if not i * j else 0 for j in range(columns + 1)] for i in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            diagonal = cost[i - 1][j - 1] + (reference[i - 1] != hypothesis[j - 1])
            cost[i][j] = min(diagonal, cost[i - 1][j] + 1, cost[i][j - 1] + 1)
    left, right = ["x"] * columns, ["x"] * rows
    i, j = rows, columns
    while i or j:
        wrong = bool(i and j and reference[i - 1] != hypothesis[j - 1])
        if i and j and cost[i][j] == cost[i - 1][j - 1] + wrong:
            i, j = i - 1, j - 1
            left[j] = right[i] = "sub" if wrong else "x"
        elif i and cost[i][j] == cost[i - 1][j] + 1:
            i -= 1
            right[i] = "del"
        else:
            j -= 1
            left[j] = "ins"
    return left, right


def pair(hypothesis: Words, reference: Words, left: Words, right: Words, free: str, mark: str) -> None:
    for i, word in enumerate(reference):
        for j, other in enumerate(hypothesis):
            if right[i] == free and left[j] == free and word == other:
                left[j] = right[i] = mark


def label(hypothesis: Words, base: Words, reference: Words, reference_base: Words) -> tuple[Words, Words]:
    left, right = alignment(hypothesis, reference)
    left_match, right_match = ["free"] * len(left), ["free"] * len(right)
    pair(hypothesis, reference, left_match, right_match, "free", "same")
    pair(base, reference_base, left_match, right_match, "free", "base")
    names = {"sub": "lexical", "del": "missing", "ins": "extra", "x": "right"}
    labels = []
    for edits, matches in ((left, left_match), (right, right_match)):
        labels.append(
            [
                "inflection" if match == "base" else names[edit] if match == "free" else "right"
                for edit, match in zip(edits, matches, strict=True)
            ]
        )
    wrong = [["right" if edit == "x" else "wrong" for edit in edits] for edits in (left, right)]
    pair(hypothesis, reference, wrong[0], wrong[1], "wrong", "reordering")
    for each, moved in zip(labels, wrong, strict=True):
        each[:] = ["reordering" if m == "reordering" else f for f, m in zip(each, moved, strict=True)]
    return labels[0], labels[1]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--segments", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    draw = random.Random(given.seed)
    words = [f"w{int(draw.paretovariate(0.8))}" for _ in range(5000)]
    reference = [draw.choices(words, k=draw.randint(5, 55)) for _ in range(given.segments)]
    hypothesis = [[w if draw.random() < 0.7 else draw.choice(words) for w in text] for text in reference]
    bases = [[[w[:-1] or w for w in text] for text in side] for side in (hypothesis, reference)]
    columns = [Tokens.from_lists(texts) for texts in (hypothesis, bases[0], reference, bases[1])]
    class_errors(*(column.take(np.array([0])) for column in columns))  # compiles

    started = time.perf_counter()
    outcome = class_errors(*columns)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    plain = [label(*row) for row in zip(hypothesis, bases[0], reference, bases[1], strict=True)]
    theirs = time.perf_counter() - started
    names = ("right", "inflection", "reordering", "missing", "extra", "lexical")
    assert [names[k] for k in outcome.reference] == [name for _, right in plain for name in right]
    assert [names[k] for k in outcome.hypothesis] == [name for left, _ in plain for name in left]
    print(f"{given.segments} segments: kernel {ours:.3f} s, plain Python {theirs:.2f} s, ", end="")
    print(f"{theirs / ours:.0f} times as fast; {given.segments / ours:,.0f} segments per second")


if __name__ == "__main__":
    main()
