"""Forced segmentation against every derivation there is, and against sums done by hand."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qe_papers.extractors.forced_decoding import force
from tests.qe_papers.extractors.test_decoder_imitation import Pairs, Phrase, table, tokens

PAIRS: Pairs = {
    (("the",), ("la",)): 0.6,
    (("the",), ("el",)): 0.4,
    (("red",), ("roja",)): 0.9,
    (("house",), ("casa",)): 0.8,
    (("house",), ("una", "casa")): 0.1,
    (("the", "red"), ("la", "roja")): 0.3,
    (("red", "house"), ("casa", "roja")): 0.05,
    (("red", "house", "the"), ("casa",)): 0.01,
}

Found = tuple[int, float, int, int]  # uncovered, cost, phrases, unused: the least is the best


def pairs_of(source: Phrase, target: Phrase) -> list[tuple[Phrase, Phrase, float]]:
    """Pairs that begin both texts."""
    return [(s, t, p) for (s, t), p in PAIRS.items() if source[: len(s)] == s and target[: len(t)] == t]


def swapped(source: Phrase, target: Phrase) -> Iterator[tuple[int, int, float]]:
    for s, t in ((s, t) for s in range(1, len(source)) for t in range(1, len(target))):
        for late, first, p in pairs_of(source[s:], target):
            if len(first) == t:
                for early, second, q in pairs_of(source, target[t:]):
                    if len(early) == s:
                        yield s + len(late), t + len(second), p * q


def derivations(source: Phrase, target: Phrase) -> Iterator[Found]:
    """Every way to derive the target, told apart by what it sums up to."""
    if not source and not target:
        yield 0, 0.0, 0, 0
    if source:
        yield from ((u, c, n, left + 1) for u, c, n, left in derivations(source[1:], target))
    if target:
        yield from ((u + 1, c, n, left) for u, c, n, left in derivations(source, target[1:]))
    steps = [(len(s), len(t), p, 1) for s, t, p in pairs_of(source, target)]
    steps += [(s, t, p, 2) for s, t, p in swapped(source, target)]
    for s, t, p, more in steps:
        for u, c, n, left in derivations(source[s:], target[t:]):
            yield u, c - 4 * math.log(p), n + more, left


sources = st.lists(st.sampled_from(["the", "red", "house", "Oslo"]), max_size=4)
targets = st.lists(st.sampled_from(["la", "el", "roja", "casa", "una", "Oslo"]), max_size=4)


@pytest.mark.slow
@settings(max_examples=150)
@given(sources, targets)
def test_the_best_of_all_derivations(source: list[str], target: list[str]) -> None:
    forced = force(tokens(source), tokens(target), table(PAIRS))
    best = min(derivations(tuple(source), tuple(target)))
    assert forced.uncovered[0] == best[0]
    assert -forced.phrase_log[0] - forced.lexical_log[0] == pytest.approx(best[1], abs=1e-5)
    same = [
        d for d in derivations(tuple(source), tuple(target)) if d[:1] == best[:1] and d[1] < best[1] + 1e-6
    ]
    assert (forced.phrases[0], forced.unused[0]) in {(n, left) for _, _, n, left in same}


def test_each_score_has_its_place() -> None:
    """Forward, backward and both weights differ: phrase probabilities on one side, weights on the other."""
    own = table({(("red",), ("roja",)): 0.5})
    one = np.ones(1, np.float32)
    changed = replace(
        own, forward=0.5 * one, backward=0.25 * one, forward_weight=-2 * one, backward_weight=-3 * one
    )
    forced = force(tokens(["red"]), tokens(["roja"]), changed)
    assert forced.phrase_log[0] == pytest.approx(math.log(0.125))
    assert forced.lexical_log[0] == pytest.approx(-5)


def test_texts_do_not_disturb_each_other() -> None:
    """Empty texts, nothing known, and the same words hundreds of times."""
    left = [[], ["zzz"], ["the"] * 300, ["red", "house"], ["red"]]
    right = [["casa"], [], ["la"] * 300, ["casa", "roja"], ["zzz", "y"]]
    together = force(tokens(*left), tokens(*right), table(PAIRS))
    for k, (source, target) in enumerate(zip(left, right, strict=True)):
        alone = force(tokens(source), tokens(target), table(PAIRS))
        for name, values in vars(together).items():
            assert values[k] == getattr(alone, name)[0]
    assert together.phrases.tolist() == [0, 0, 300, 2, 0]
    assert together.uncovered.tolist() == [1, 0, 0, 0, 2]
    assert together.unused.tolist() == [0, 1, 0, 0, 1]
