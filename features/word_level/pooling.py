"""A small network from the tokens of a text to numbers, pooled by attention."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.rows import row_products
from features.storage.arrays import finite, typed
from features.text.tokens import rows_of
from features.word_level.columns import Longs

Matrix = NDArray[np.float32]
Parameters = dict[str, NDArray[Any]]
_LARGEST = 1e6  # parameter: products of all layers stay numbers
Product = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Texts:
    """The tokens of n texts, none of them empty: inputs (n_tokens, k), offsets (n + 1,)."""

    inputs: NDArray[Any]
    offsets: Longs

    def take(self, rows: Longs) -> "Texts":
        offsets, tokens = self.places(rows)
        return Texts(self.inputs[tokens], offsets)

    def places(self, rows: Longs) -> tuple[Longs, Longs]:
        """Offsets of the requested texts on their own, and the numbers of their tokens here."""
        return rows_of(self.offsets, rows)


@dataclass(frozen=True, eq=False)
class Learned:
    """Training data: outcomes (n, m) of texts, weights (n,), labels bad (n_tokens,)."""

    outcomes: Matrix
    weights: Matrix
    bad: Matrix


@dataclass(frozen=True, eq=False)
class _Pass:
    hidden: NDArray[Any]
    units: NDArray[Any]


@dataclass(frozen=True, eq=False)
class PoolingNetwork:
    """ReLU units of tokens, pooled per text; then ReLU units of the text; linear outcomes. Pooling is by
    mean, and by attention (softmax over the text). The units of tokens also learn to classify BAD and OK
    (logistic). Source: attention as in Bahdanau et al. 2015 without a query; word-level and sentence-level
    labels learned together as in Kim et al. 2017 (predictor-estimator), Kepler et al. 2019 (OpenKiwi).
    """

    parameters: Parameters

    def check_arrays(self) -> None:
        units, outcomes = self.parameters["text"].shape[-1:], self.parameters["outcome"].shape[-1:]
        width, tokens = (self.parameters["token"].shape * 2)[:2]
        shapes: dict[str, tuple[int, ...]] = {
            "token": (width, tokens),
            "token_bias": (tokens,),
            "bad": (tokens,),
            "bad_bias": (1,),
            "attention": (tokens,),
            "text": (2 * tokens, *units),
            "text_bias": units,
            "outcome": (*units, *outcomes),
            "outcome_bias": outcomes,
        }
        for name, shape in shapes.items():
            typed(name, self.parameters[name], np.float32, *shape)
            finite(name, self.parameters[name], -_LARGEST, _LARGEST)

    def outcomes(self, texts: Texts) -> NDArray[np.float64]:
        """(n, m); a text's numbers do not depend on the batch."""
        if len(texts.offsets) == 1:
            return np.empty((0, len(self.parameters["outcome_bias"])))
        exact = {name: value.astype(np.float64) for name, value in self.parameters.items()}
        activations = _forward(exact, texts, row_products)
        return row_products(activations.units, exact["outcome"]) + exact["outcome_bias"]


def full_texts(inputs: NDArray[Any], offsets: Longs) -> tuple[Texts, NDArray[np.bool_]]:
    full = np.diff(offsets) > 0
    return Texts(inputs, np.append(offsets[:-1][full], offsets[-1])), full


def _forward(parameters: Parameters, texts: Texts, product: Product = np.matmul) -> _Pass:
    starts, lengths = texts.offsets[:-1], np.diff(texts.offsets)
    hidden = np.maximum(product(texts.inputs, parameters["token"]) + parameters["token_bias"], 0)
    score = product(hidden, parameters["attention"][:, None])[:, 0]
    raised = np.exp(score - np.repeat(np.maximum.reduceat(score, starts), lengths))
    attention = raised / np.repeat(np.add.reduceat(raised, starts), lengths)
    mean = np.add.reduceat(hidden, starts, axis=0) / lengths[:, None].astype(hidden.dtype)
    attended = np.add.reduceat(hidden * attention[:, None], starts, axis=0)
    pooled = np.hstack([mean, attended])
    units = np.maximum(product(pooled, parameters["text"]) + parameters["text_bias"], 0)
    return _Pass(hidden, units)


def save_network(network: PoolingNetwork, path: Any) -> None:
    path.mkdir()
    for name, value in network.parameters.items():
        np.save(path / f"{name}.npy", value, allow_pickle=False)


def load_network(path: Any) -> PoolingNetwork:
    network = PoolingNetwork({f.stem: np.load(f, allow_pickle=False) for f in path.glob("*.npy")})
    network.check_arrays()
    return network
