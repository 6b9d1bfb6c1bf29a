"""What a shuffled column costs."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from qe.models.pipeline import Candidate
from qe.training import plots
from tests.training.test_search import objective, ridge


@pytest.mark.parametrize("rows", [10, 2000])
def test_columns_stand_in_the_order_of_their_weight(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The label is 3 + f0 - f1 / 2; folds have 30 held-out rows."""
    monkeypatch.setattr(plots, "_MAX_ROWS", rows)
    names, rises, spread = plots.permutation_importance(objective([ridge()]), Candidate("ridge"))
    assert [names[i] for i in np.argsort(-rises)[:2]] == ["f0", "f1"]
    assert rises[names.index("constant")] == spread[names.index("constant")] == 0


def test_a_long_run_does_not_buy_seconds_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "_SHARE", 1e9)
    monkeypatch.setattr(plots, "_MAX_SECONDS", 0.0)
    monkeypatch.setattr(plots, "_MIN_ROWS", 1)
    _, none, _ = plots.permutation_importance(objective([ridge()]), Candidate("ridge"))
    assert not none.any()


def test_the_figures_are_the_same_however_many_columns_are_looked_at_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = objective([ridge()])
    _, together, _ = plots.permutation_importance(searched, Candidate("ridge"))
    monkeypatch.setattr(plots, "_MAX_VALUES", 1)
    _, alone, _ = plots.permutation_importance(searched, Candidate("ridge"))
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)
    assert together.max() > 0.1


def test_what_the_search_fitted_last_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected, _ = plots.permutation_importance(objective([ridge()]), Candidate("ridge"))
    searched = objective([ridge()])
    searched.predictions(Candidate("ridge"))

    def refused(*_: object) -> None:
        raise AssertionError("fitted again")

    monkeypatch.setattr(Ridge, "fit", refused)
    _, rises, _ = plots.permutation_importance(searched, Candidate("ridge"))
    np.testing.assert_array_equal(rises, expected)
    with pytest.raises(AssertionError, match="fitted again"):
        plots.permutation_importance(searched, Candidate("ridge", {"alpha": 300.0}))
