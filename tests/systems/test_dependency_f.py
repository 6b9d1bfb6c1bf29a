"""F of dependencies, by hand: a parser whose heads and relations are written into the words."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from qe.statistics import ResamplingSettings
from qe.systems import System, Texts, compare
from qe.systems.dependency_f import DependencyF, dependencies


class Chains:
    """Each word depends on the one before; its relation is its first letter."""

    fingerprint = "chains of words"

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        for text in texts:
            rows = (f"{i}\t{w}\t_\tX\t_\t_\t{i - 1}\t{w[0]}\t_\t_" for i, w in enumerate(text, start=1))
            yield "\n".join(rows)


def made(parser: object = None) -> DependencyF:
    return DependencyF(parser or Chains(), "chains", "none")  # type: ignore[arg-type]


def test_dependencies_are_heads_relations_and_words() -> None:
    (block,) = Chains().annotate([["The", "cat", "the", "cat"]])
    found = dependencies(block, "chains", 1)
    assert found == {("", "T", "the"): 1, ("the", "c", "cat"): 2, ("cat", "t", "the"): 1}


def test_f_of_a_hand_worked_example() -> None:
    """(root a), (a b), (b c) against (root a), (a b), (b d), (d c): 2 of 3 and 2 of 4, F = 4/7."""
    metric = made()
    assert metric.score(["a b c"], [["a b d c"]]) == pytest.approx(100 * 4 / 7)
    assert metric.score(["a b c"], [["x y"], ["a b c"]]) == 100
    assert metric.score(["A B"], [["a b"]]) == 0  # relations are told apart by case here, words are not
    statistics = metric.statistics(
        Texts.from_lines(["a b c", "a b c"]),
        [Texts.from_lines(["a b d c", "a"]), Texts.from_lines(["x", "a b"])],
    )
    assert statistics.tolist() == [[2, 3, 4], [2, 3, 2]]
    assert np.isnan(metric.score(["a"], [[""]])) and metric.score([""], [["a"]]) == 0


def test_it_is_compared_as_other_metrics_are() -> None:
    reference = [f"a b c d{i}" for i in range(30)]
    systems = [
        System("good", (Texts.from_lines([f"a b c x{i}" for i in range(30)]),)),
        System("bad", (Texts.from_lines([f"c b a x{i}" for i in range(30)]),)),
    ]
    built = compare(
        systems,
        [Texts.from_lines(reference)],
        {"dependency_f": made()},
        settings=ResamplingSettings(samples=200),
    )
    (one,) = built.comparisons
    assert one.result.difference == pytest.approx(-75) and one.p_corrected < 0.01
    assert "annotator:chains|fingerprint:chains o" in built.signature("dependency_f")


class WithoutHeads(Chains):
    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        for block in super().annotate(texts):
            yield "\n".join("\t".join([*row.split("\t")[:6], *"____"]) for row in block.split("\n"))
