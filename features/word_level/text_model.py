"""TextModel: numbers of a text from one side's tokens, by networks that pool them."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.threads import cores
from features.storage.arrays import finite, typed
from features.storage.damage import Damaged
from features.word_level.columns import same_width
from features.word_level.keys import (
    Encoding,
    encoded,
    fit_encodings,
    load_encodings,
    out_of_fold,
    save_encodings,
)
from features.word_level.labels import Bad
from features.word_level.model import Inputs
from features.word_level.network import Matrix, moments, standardised_inputs
from features.word_level.pooling import (
    Learned,
    Parameters,
    PoolingNetwork,
    fit_network,
    full_texts,
    load_network,
    save_network,
)
from features.word_level.two_sides import Side

_BATCH = 500  # texts scored at a time: memory stays small


@dataclass(frozen=True, eq=False)
class TextModel:
    """Mean of networks over columns, target encodings and word vectors of the tokens. Columns are
    standardised.
    """

    encodings: Mapping[str, Encoding]
    mean: Matrix
    deviation: Matrix
    networks: tuple[PoolingNetwork, ...]

    @classmethod
    def fit(
        cls,
        side: Side,
        bad: Bad,
        outcomes: Matrix,
        weights: Matrix,
        *,
        networks: int,
        epochs: int,
        dropout: float = 0.4,
        seed: int,
        beginnings: Sequence[Parameters] = (),
    ) -> "TextModel":
        """Fits networks to labels `bad` (n_tokens,), outcomes (n, m) and weights (n,). `bad` is whether
        tokens are BAD, or how probably. Texts without tokens are passed over. Networks begin at `beginnings`
        in turn, if there are any.
        """
        columns = _columns(side.inputs, out_of_fold(side.inputs.keys, bad, side.segment))
        mean, deviation = moments(columns)
        inputs = standardised_inputs(columns, side.inputs.vectors, mean, deviation)
        texts, full = full_texts(inputs, side.offsets)
        learned = Learned(outcomes[full], weights[full], bad.astype(np.float32))

        def network(i: int) -> PoolingNetwork:
            initial_state = beginnings[i % len(beginnings)] if beginnings else None
            return fit_network(
                texts, learned, epochs=epochs, dropout=dropout, seed=seed + i, beginning=initial_state
            )

        # One thread each, and one for their products: not for all of them at once.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(min(networks, cores())) as pool:
            fitted = tuple(pool.map(network, range(networks)))
        return cls(fit_encodings(side.inputs.keys, bad), mean, deviation, fitted)

    def outcomes(self, side: Side) -> NDArray[np.float64]:
        """(n, m); NaN for texts without tokens."""
        columns = _columns(side.inputs, encoded(self.encodings, side.inputs.keys))
        same_width(columns.shape[1], len(self.mean))
        inputs = standardised_inputs(columns, side.inputs.vectors, self.mean, self.deviation)
        for network in self.networks:
            same_width(inputs.shape[1], len(network.parameters["token"]))
        texts, there = full_texts(inputs, side.offsets)
        full = np.flatnonzero(there)
        result = np.full((len(side.offsets) - 1, self._width), np.nan)
        for first in range(0, len(full), _BATCH):
            rows = np.arange(first, min(first + _BATCH, len(full)))
            batch = texts.take(rows)
            result[full[rows]] = np.mean([network.outcomes(batch) for network in self.networks], axis=0)
        return result

    @property
    def _width(self) -> int:
        return len(self.networks[0].parameters["outcome_bias"])

    def save(self, path: Path) -> None:
        path.mkdir()
        np.save(path / "moments.npy", np.vstack([self.mean, self.deviation]), allow_pickle=False)
        for i, network in enumerate(self.networks):
            save_network(network, path / f"network{i}")
        save_encodings(self.encodings, path)

    @classmethod
    def load(cls, path: Path) -> "TextModel":
        moments = np.load(path / "moments.npy", allow_pickle=False)
        typed("moments", moments, np.float32, 2, None)
        finite("moments", moments)
        networks = tuple(load_network(folder) for folder in sorted(path.glob("network*")))
        if not networks or len({len(network.parameters["outcome_bias"]) for network in networks}) > 1:
            raise Damaged("there is no network, or they have different outcomes")
        return cls(load_encodings(path), moments[0], moments[1], networks)


def _columns(inputs: Inputs, encodings: NDArray[np.float64]) -> Matrix:
    return np.hstack([inputs.columns, encodings.astype(np.float32)])
