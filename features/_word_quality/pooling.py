"""A small network from the tokens of a text to numbers of the text, which pools them by attention."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features._word_quality.columns import Longs
from features._word_quality.rows import row_products
from features.core.arrays import typed

Matrix = NDArray[np.float32]
Parameters = dict[str, NDArray[Any]]
Product = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

_TOKEN_UNITS = 64
_TEXT_UNITS = 32
_BATCH = 64  # texts
_RATE = 2e-3
_DECAY = 1e-4
_DROPPED = 0.4  # share of the inputs of tokens


@dataclass(frozen=True, eq=False)
class Texts:
    """The tokens of n texts, none of them empty: inputs (n_tokens, k), offsets (n + 1,)."""

    inputs: NDArray[Any]
    offsets: Longs

    def take(self, rows: Longs) -> tuple["Texts", Longs]:
        """The texts asked for, and which tokens they have."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        index = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Texts(self.inputs[index], offsets), index


@dataclass(frozen=True, eq=False)
class Learned:
    """What is learned from: outcomes (n, m) of texts and their weights (n,), bad (n_tokens,) of tokens."""

    outcomes: Matrix
    weights: Matrix
    bad: Matrix

    def take(self, rows: Longs, tokens: Longs) -> "Learned":
        return Learned(self.outcomes[rows], self.weights[rows], self.bad[tokens])


@dataclass(frozen=True, eq=False)
class _Pass:
    """A text's way through the network: units of tokens, attention, their sums, pooled, units of texts."""

    hidden: NDArray[Any]
    attention: NDArray[Any]
    attended: NDArray[Any]
    pooled: NDArray[Any]
    units: NDArray[Any]


@dataclass(frozen=True, eq=False)
class PoolingNetwork:
    """ReLU units of every token; their mean, and their mean by attention (softmax over the text); ReLU units
    of the text; linear outcomes. Beside them, the units of tokens learn to tell BAD from OK (logistic).

    Source: attention as in Bahdanau et al. 2015 without a query; word-level and sentence-level labels learned
    together as in Kim et al. 2017 (predictor-estimator), Kepler et al. 2019 (OpenKiwi).
    """

    parameters: Parameters

    def check_arrays(self) -> None:
        """Raises Damaged if a parameter is missing, or parameters do not fit each other."""
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

    @classmethod
    def fit(
        cls, texts: Texts, learned: Learned, *, epochs: int, seed: int, beginning: Parameters | None = None
    ) -> "PoolingNetwork":
        """Adam (Kingma and Ba 2015) on squared errors and cross-entropy, the rate falling to 0.

        Begins with small random numbers, or where it is told to.
        """
        rng = np.random.default_rng(seed)
        parameters = _beginning(rng, texts.inputs.shape[1], learned.outcomes.shape[1])
        if beginning is not None:
            parameters = {name: beginning[name].copy() for name in parameters}
        n = len(learned.outcomes)
        adam = _Adam(parameters, steps=epochs * -(-n // _BATCH))
        with threadpool_limits(1, "blas"):  # batches are small: threads would only wait for each other
            for _ in range(epochs):
                order = rng.permutation(n)
                for first in range(0, n, _BATCH):
                    batch, tokens = texts.take(order[first : first + _BATCH])
                    known = learned.take(order[first : first + _BATCH], tokens)
                    thinned, scale = _without(parameters, rng)
                    gradients = _gradients(thinned, batch, known)
                    gradients["token"] = scale * gradients["token"] + _DECAY * parameters["token"]
                    adam.step(gradients)
        return cls(parameters)

    def outcomes(self, texts: Texts) -> NDArray[np.float64]:
        """(n, m); a text's numbers do not depend on the batch."""
        if len(texts.offsets) == 1:
            return np.empty((0, len(self.parameters["outcome_bias"])))
        exact = {name: value.astype(np.float64) for name, value in self.parameters.items()}
        activations = _forward(exact, Texts(texts.inputs.astype(np.float64), texts.offsets), row_products)
        return row_products(activations.units, exact["outcome"]) + exact["outcome_bias"]


def full_texts(inputs: NDArray[Any], offsets: Longs) -> tuple[Texts, NDArray[np.bool_]]:
    """The texts that have tokens, and (n,) which they are."""
    full = np.diff(offsets) > 0
    return Texts(inputs, np.append(offsets[:-1][full], offsets[-1])), full


def _beginning(rng: np.random.Generator, width: int, outcomes: int) -> Parameters:
    t, s = _TOKEN_UNITS, _TEXT_UNITS
    parameters = {
        "token": rng.normal(0, np.sqrt(2 / width), (width, t)),
        "token_bias": np.zeros(t),
        "bad": rng.normal(0, np.sqrt(1 / t), t),
        "bad_bias": np.zeros(1),
        "attention": rng.normal(0, 0.1, t),
        "text": rng.normal(0, np.sqrt(1 / t), (2 * t, s)),
        "text_bias": np.zeros(s),
        "outcome": rng.normal(0, np.sqrt(1 / s), (s, outcomes)),
        "outcome_bias": np.zeros(outcomes),
    }
    return {name: value.astype(np.float32) for name, value in parameters.items()}


def _without(parameters: Parameters, rng: np.random.Generator) -> tuple[Parameters, Matrix]:
    """Some inputs left out for the whole batch, the others larger for it (Srivastava et al. 2014).

    The weights of the inputs, and what each was multiplied by (k, 1).
    """
    kept = rng.random(len(parameters["token"])) > _DROPPED
    scale = np.asarray(kept / (1 - _DROPPED), np.float32)[:, None]
    return {**parameters, "token": parameters["token"] * scale}, scale


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
    return _Pass(hidden, attention, attended, pooled, units)


def _gradients(parameters: Parameters, texts: Texts, learned: Learned) -> Parameters:
    activations = _forward(parameters, texts)
    outcomes = activations.units @ parameters["outcome"] + parameters["outcome_bias"]
    error = (outcomes - learned.outcomes) * (learned.weights / np.float32(len(outcomes)))[:, None]
    back = (error @ parameters["outcome"].T) * (activations.units > 0)
    tokens, attention = _through_pooling(parameters, texts, activations, back @ parameters["text"].T)
    guess = expit(activations.hidden @ parameters["bad"] + parameters["bad_bias"])
    wrong = (guess - learned.bad) / np.float32(len(learned.bad))
    tokens = (tokens + np.outer(wrong, parameters["bad"])) * (activations.hidden > 0)
    return {
        "token": texts.inputs.T @ tokens,
        "token_bias": tokens.sum(axis=0),
        "bad": activations.hidden.T @ wrong,
        "bad_bias": wrong.sum(keepdims=True),
        "attention": attention,
        "text": activations.pooled.T @ back + _DECAY * parameters["text"],
        "text_bias": back.sum(axis=0),
        "outcome": activations.units.T @ error,
        "outcome_bias": error.sum(axis=0),
    }


def _through_pooling(
    parameters: Parameters, texts: Texts, activations: _Pass, pooled: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Gradients of the units of tokens, and of the attention's weights, from those of what was pooled."""
    lengths = np.diff(texts.offsets)
    mean, attended = pooled[:, :_TOKEN_UNITS], pooled[:, _TOKEN_UNITS:]
    spread = np.repeat(attended, lengths, axis=0)
    share = (activations.hidden * spread).sum(axis=1)
    share -= np.repeat((activations.attended * attended).sum(axis=1), lengths)
    score = activations.attention * share
    tokens = np.repeat(mean / lengths[:, None].astype(mean.dtype), lengths, axis=0)
    tokens += activations.attention[:, None] * spread + np.outer(score, parameters["attention"])
    return tokens, activations.hidden.T @ score


class _Adam:
    """Changes the parameters in place."""

    def __init__(self, parameters: Parameters, steps: int) -> None:
        self.parameters, self.steps, self.done = parameters, steps, 0
        self.first = {name: np.zeros_like(p) for name, p in parameters.items()}
        self.second = {name: np.zeros_like(p) for name, p in parameters.items()}

    def step(self, gradients: Parameters) -> None:
        rate = _RATE * (1 - self.done / self.steps)
        self.done += 1
        rate *= float(np.sqrt(1 - 0.999**self.done) / (1 - 0.9**self.done))
        for name, p in self.parameters.items():
            m, v, g = self.first[name], self.second[name], gradients[name]
            m += np.float32(0.1) * (g - m)
            v += np.float32(0.001) * (g * g - v)
            p -= np.float32(rate) * m / (np.sqrt(v) + np.float32(1e-8))


def save_network(network: PoolingNetwork, path: Any) -> None:
    """Writes into the new directory `path`."""
    path.mkdir()
    for name, value in network.parameters.items():
        np.save(path / f"{name}.npy", value, allow_pickle=False)


def load_network(path: Any) -> PoolingNetwork:
    """What `save_network` wrote. Raises Damaged if arrays do not fit each other."""
    network = PoolingNetwork({f.stem: np.load(f, allow_pickle=False) for f in path.glob("*.npy")})
    network.check_arrays()
    return network
