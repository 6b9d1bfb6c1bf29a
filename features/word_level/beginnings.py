"""Pooling networks taught by parallel text alone: where those of a task begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray
from features.basics.threads import side_by_side
from features.word_level.columns import Longs, columns_in
from features.word_level.network import Matrix, moments, standardised_inputs
from features.word_level.pooling import (
    Learned,
    Parameters,
    PoolingNetwork,
    full_texts,
    load_network,
    save_network,
)
from features.word_level.pooling_training import fit_network

_EPOCHS = 6


@dataclass(frozen=True, eq=False)
class SyntheticExamples:
    """The tokens of one side of n translations that nobody has labelled.

    names, columns  (n_tokens, k) what is seen of them; NaN: undefined
    bad             (n_tokens,)
    offsets         (n + 1,)
    rate            (n,) of BAD words and gaps; NaN for a translation without words
    """

    names: tuple[str, ...]
    columns: Matrix
    bad: NDArray[np.bool_]
    offsets: Longs
    rate: FloatArray


@dataclass(frozen=True, eq=False)
class Beginnings:
    """Networks of some columns; their one outcome is the standardised rate of BAD tokens. Tokens are words
    and gaps.
    """

    columns: tuple[str, ...]
    networks: tuple[PoolingNetwork, ...]

    @classmethod
    def fit(cls, examples: SyntheticExamples, *, networks: int, seed: int) -> "Beginnings":
        vectors = np.empty((len(examples.columns), 0), np.float32)
        inputs = standardised_inputs(examples.columns, vectors, *moments(examples.columns))
        texts, full = full_texts(inputs, examples.offsets)
        rate = standardised(examples.rate)[full, None]
        learned = Learned(rate, np.ones(len(rate), np.float32), examples.bad.astype(np.float32))

        def network(i: int) -> PoolingNetwork:
            return fit_network(texts, learned, epochs=_EPOCHS, seed=seed + i)

        with threadpool_limits(1, "blas"):  # for all of them: each would lift the limit of the others
            return cls(examples.names, tuple(side_by_side(network, range(networks))))

    def parameters(self, names: Sequence[str], width: int, outcomes: Matrix) -> tuple[Parameters, ...]:
        """Initial parameters of networks of a task with `width` inputs, `names` first.

        outcomes  (n, m) of the task, the last of them the rate of BAD words and gaps; the others begin as it,
                  times their correlation with it

        Inputs that were not there in teaching weigh nothing yet.
        """
        along = _correlations(outcomes)
        return tuple(self._widened(network, names, width, along) for network in self.networks)

    def _widened(
        self, network: PoolingNetwork, names: Sequence[str], width: int, along: FloatArray
    ) -> Parameters:
        taught = network.parameters
        token = np.zeros((width, taught["token"].shape[1]), np.float32)
        token[columns_in(names, self.columns)] = taught["token"]
        return {
            **taught,
            "token": token,
            "outcome": np.asarray(taught["outcome"] * along, np.float32),
            "outcome_bias": np.asarray(taught["outcome_bias"] * along, np.float32),
        }

    def save(self, path: Path) -> None:
        path.mkdir()
        for i, network in enumerate(self.networks):
            save_network(network, path / f"network{i}")

    @classmethod
    def load(cls, path: Path, columns: tuple[str, ...]) -> "Beginnings":
        return cls(columns, tuple(load_network(folder) for folder in sorted(path.glob("network*"))))


def standardised(values: FloatArray) -> Matrix:
    """Mean 0 and deviation 1; what is undefined (texts without words) becomes 0; constants too."""
    deviation = float(np.nanstd(values))
    scaled = (values - np.nanmean(values)) / (deviation if deviation > 0 else 1.0)
    return np.nan_to_num(scaled).astype(np.float32)


def _correlations(outcomes: NDArray[np.float32]) -> FloatArray:
    products = (outcomes * outcomes[:, -1:]).mean(axis=0, dtype=np.float64)
    products[-1] = 1.0
    return np.asarray(products, np.float64)
