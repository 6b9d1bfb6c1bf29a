"""Sharing: which rows stand behind a value, by fits that remember theirs."""

import numpy as np
import pytest

from qe.data.folds import make_folds
from qe.training.extraction import Sharing


def behind(sharing: Sharing) -> dict[tuple[int, int], np.ndarray]:
    """Values (rows, n): 1 for the rows that the fit behind them has seen."""
    values = {}
    for rows, asked in sharing.fits():
        seen = np.zeros(sharing.n)
        seen[rows] = 1
        values |= {place: np.tile(seen, (len(which), 1)) for place, which in asked}
    return values


@pytest.mark.parametrize(("n", "k"), [(40, 5), (61, 7), (100, 10), (50, 12)])
def test_no_value_knows_its_own_label_or_one_that_is_held_out(n: int, k: int) -> None:
    folds = make_folds(n, k, seed=3)
    sharing = Sharing.of_folds(folds)
    assert sharing is not None
    values = behind(sharing)
    for number, (training, held_out) in enumerate(folds):
        table = sharing.trained(values, number)
        assert np.isnan(table[held_out]).all() and not np.isnan(table[training]).any()
        assert not table[np.ix_(training, held_out)].any()
        assert not table[training, training].any()
        least = n - 2 * max(len(rows) for rows in sharing.rows)
        assert (table[training].sum(axis=1) >= least).all()
    whole = sharing.trained(values, None)
    assert not whole.diagonal().any() and not np.isnan(whole).any()


def test_ten_folds_take_28_fits_where_each_alone_takes_50() -> None:
    sharing = Sharing.of_folds(make_folds(100, 10, seed=0))
    assert sharing is not None
    assert len(sharing.fits()) == 7 * 6 // 2 + 7
    assert sorted(map(len, sharing.rows)) == [10, 10, 10, 10, 20, 20, 20]


def test_few_folds_or_folds_that_are_no_partition_share_nothing() -> None:
    folds = make_folds(60, 6, seed=0)
    assert Sharing.of_folds(make_folds(60, 4, seed=0)) is None
    assert Sharing.of_folds(folds[:-1]) is None
    assert Sharing.of_folds([*folds, folds[0]]) is None
    assert Sharing.of_folds([(training[1:], held_out) for training, held_out in folds]) is None
