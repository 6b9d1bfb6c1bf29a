"""How a pooling network is trained: batches of texts, dropout, gradients, Adam."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features._word_quality import pooling_kernels as kernels
from features._word_quality.columns import Longs
from features._word_quality.pooling import Learned, Matrix, Parameters, PoolingNetwork, Texts

_TOKEN_UNITS = 64
_TEXT_UNITS = 32
_BATCH = 64  # texts
_RATE = 2e-3
_DECAY = 1e-4
_DROPPED = 0.4  # share of the inputs of tokens


def fit_network(
    texts: Texts, learned: Learned, *, epochs: int, seed: int, beginning: Parameters | None = None
) -> PoolingNetwork:
    """Adam (Kingma and Ba 2015) on squared errors and cross-entropy, the rate falling to 0.

    Begins with small random numbers, or where it is told to.
    """
    rng = np.random.default_rng(seed)
    parameters = random_beginning(rng, texts.inputs.shape[1], learned.outcomes.shape[1])
    if beginning is not None:
        parameters = {name: beginning[name].copy() for name in parameters}
    n = len(learned.outcomes)
    adam = _Adam(parameters, steps=epochs * -(-n // _BATCH))
    with threadpool_limits(1, "blas"):  # batches are small: threads would only wait for each other
        for _ in range(epochs):
            order = rng.permutation(n)
            for first in range(0, n, _BATCH):
                batch = order[first : first + _BATCH]
                kept = np.flatnonzero(rng.random(len(parameters["token"])) > _DROPPED)
                adam.step(_of_batch(parameters, texts, learned, batch, kept))
    return PoolingNetwork(parameters)


def random_beginning(rng: np.random.Generator, width: int, outcomes: int) -> Parameters:
    """Parameters of a network of `width` inputs of tokens: small random numbers, biases of 0."""
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


def _of_batch(parameters: Parameters, texts: Texts, learned: Learned, rows: Longs, kept: Longs) -> Parameters:
    """The gradients of some texts, where only the inputs `kept` are seen.

    The others are left out for the whole batch, and these are larger for it (Srivastava et al. 2014).
    """
    offsets, tokens = texts.places(rows)
    inputs = np.empty((len(tokens), len(kept)), texts.inputs.dtype)
    kernels.gather(texts.inputs, tokens, kept, inputs)
    scale = np.float32(1 / (1 - _DROPPED))
    thinned = {**parameters, "token": parameters["token"][kept] * scale}
    gradients = batch_gradients(thinned, Texts(inputs, offsets), learned.take(rows, tokens))
    token: Matrix = np.float32(_DECAY) * parameters["token"]
    token[kept] += scale * gradients["token"]
    return {**gradients, "token": token}


@dataclass(frozen=True, eq=False)
class _Pass:
    """A batch's way through the network: units of tokens, attention, pooled, units of texts."""

    hidden: NDArray[Any]
    attention: NDArray[Any]
    pooled: NDArray[Any]
    units: NDArray[Any]


def batch_gradients(parameters: Parameters, texts: Texts, learned: Learned) -> Parameters:
    """Of half the mean squared error of outcomes and of the mean cross-entropy of tokens, and of the penalty
    of `text`.
    """
    way = _forward(parameters, texts)
    outcomes = way.units @ parameters["outcome"] + parameters["outcome_bias"]
    error = (outcomes - learned.outcomes) * (learned.weights / np.float32(len(outcomes)))[:, None]
    back = (error @ parameters["outcome"].T) * (way.units > 0)
    guess = expit(way.hidden @ parameters["bad"] + parameters["bad_bias"])
    wrong = (guess - learned.bad) / np.float32(len(learned.bad))
    tokens, score = np.empty_like(way.hidden), np.empty_like(way.attention)
    kernels.unpool(
        way.hidden,
        way.attention,
        texts.offsets,
        way.pooled[:, _TOKEN_UNITS:],
        back @ parameters["text"].T,
        parameters["attention"],
        wrong,
        parameters["bad"],
        tokens,
        score,
    )
    return {
        "token": texts.inputs.T @ tokens,
        "token_bias": tokens.sum(axis=0),
        "bad": way.hidden.T @ wrong,
        "bad_bias": wrong.sum(keepdims=True),
        "attention": way.hidden.T @ score,
        "text": way.pooled.T @ back + _DECAY * parameters["text"],
        "text_bias": back.sum(axis=0),
        "outcome": way.units.T @ error,
        "outcome_bias": error.sum(axis=0),
    }


def _forward(parameters: Parameters, texts: Texts) -> _Pass:
    hidden = texts.inputs @ parameters["token"]
    kernels.rectify(hidden, parameters["token_bias"])
    attention = hidden @ parameters["attention"]
    pooled = np.empty((len(texts.offsets) - 1, 2 * _TOKEN_UNITS), hidden.dtype)
    kernels.pool(hidden, attention, texts.offsets, pooled)
    units = np.maximum(pooled @ parameters["text"] + parameters["text_bias"], 0)
    return _Pass(hidden, attention, pooled, units)


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
            flat = (p, gradients[name], self.first[name], self.second[name])
            kernels.adam(*(value.reshape(-1) for value in flat), rate)
