"""The exact line search against dense scans of the same line; weights that are known to be best."""

import numpy as np
import pandas as pd
import pytest

from qe.systems import Bleu, Texts
from qe_papers import Translations
from qe_papers.choosers.linear import LogLinear, line_search, mert
from qe_papers.selection.chooser import Outputs


def total(sums: np.ndarray) -> np.ndarray:
    """A measure that is no mean: a ratio of sums."""
    return np.asarray(sums[..., 0] / (1.0 + np.abs(sums[..., 1])))


def scored(base: np.ndarray, slope: np.ndarray, statistics: np.ndarray, t: float) -> float:
    choice = np.argmax(base + t * slope, axis=0)
    return float(total(statistics[choice, np.arange(base.shape[1])].sum(axis=0)))


@pytest.mark.parametrize("systems", [2, 3, 5])
def test_no_point_of_a_line_is_better_than_the_one_found(systems: int) -> None:
    rng = np.random.default_rng(systems)
    base, slope = rng.normal(size=(2, systems, 40))
    slope[1] = slope[0]  # systems that never overtake each other
    statistics = rng.normal(size=(systems, 40, 2))
    best, t = line_search(base, slope, statistics, total)
    assert best == pytest.approx(scored(base, slope, statistics, t))
    dense = max(scored(base, slope, statistics, step) for step in np.linspace(-60, 60, 4001))
    assert best >= dense - 1e-12


def test_weights_find_the_feature_that_tells_the_better_translation() -> None:
    rng = np.random.default_rng(7)
    gains, noise = rng.normal(size=(3, 60)), rng.normal(size=(3, 60, 4))
    values = np.concatenate([noise, gains[..., None]], axis=2)
    statistics = np.stack([gains, np.zeros_like(gains)], axis=2)
    weights = mert(values, statistics, total, start=np.eye(5)[0], restarts=2, seed=0)
    chosen = np.argmax(values @ weights, axis=0)
    best = gains.max(axis=0).sum()
    assert gains[chosen, np.arange(60)].sum() > 0.97 * best > 0
    again = mert(values, statistics, total, start=np.eye(5)[0], restarts=2, seed=0)
    assert (weights == again).all()


def test_the_prior_is_bleu_against_the_other_systems() -> None:
    lines = ["the cat sat on the mat", "a dog ran to it"]
    odd = ["x y z the cat w", "u v w x y"]
    near = ["the cat sat on a mat", "a dog ran to it"]
    data = Translations(("s", "t"), {"a": tuple(lines), "b": tuple(near), "c": tuple(odd)}, ("1", "2"))
    agreement = data.agreement(Bleu())
    expected = Bleu().score(near, [lines, odd])
    assert agreement[1] == pytest.approx(expected) and np.argmin(agreement) == 2


def test_without_telling_features_the_prior_chooses() -> None:
    rng = np.random.default_rng(3)
    words = ("the", "cat", "sat", "on", "a", "mat", "and", "dog")
    reference = [" ".join(rng.choice(words, 10)) for _ in range(40)]
    outputs = [
        [" ".join(w if rng.random() < share else "x" for w in line.split()) for line in reference]
        for share in (0.6, 0.9)
    ]
    statistics = np.stack(
        [Bleu().statistics(Texts.from_lines(o), [Texts.from_lines(reference)]) for o in outputs]
    )
    tables = tuple(pd.DataFrame({"constant": np.ones(40)}) for _ in outputs)
    told = Outputs(tables, statistics, np.array([20.0, 60.0]))
    assert (LogLinear(restarts=0).fit(told).preferences(told).argmax(axis=0) == 1).all()
