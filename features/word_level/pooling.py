"""Pooling networks: the tokens of a text to numbers by attention; training, and taught beginnings."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray, rows_of
from features.basics.rows import row_products
from features.basics.threads import side_by_side
from features.storage.damage import finite, typed
from features.word_level.columns import Longs, columns_in
from features.word_level.network import (
    Matrix,
    State,
    add_penalty,
    falling_rates,
    guess_errors,
    initial_state,
    moments,
    rectify,
    standardised_inputs,
    step,
    sum_rows,
)

Parameters = dict[str, NDArray[Any]]
_LARGEST = 1e6  # parameter: products of all layers stay numbers
Product = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Texts:
    inputs: NDArray[Any]
    offsets: Longs

    def take(self, rows: Longs) -> "Texts":
        offsets, tokens = self.places(rows)
        return Texts(self.inputs[tokens], offsets)

    def places(self, rows: Longs) -> tuple[Longs, Longs]:
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
    """ReLU units of tokens, pooled per text; then ReLU units of the text; linear outcomes.

    Pooling is by mean, and by attention (softmax over the text). The units of tokens also learn to classify
    BAD and OK. Source: attention as in Bahdanau et al. 2015 without a query; word-level and sentence-level
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
        """Outcomes (n, m); a text's numbers do not depend on the batch."""
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


Array = NDArray[Any]


class Layers(NamedTuple):
    token: Array
    token_bias: Array
    bad: Array
    bad_bias: Array
    attention: Array
    text: Array
    text_bias: Array
    outcome: Array
    outcome_bias: Array


class LabelledTexts(NamedTuple):
    inputs: Array
    offsets: Longs
    outcomes: Array
    weights: Array
    bad: Array


@numba.njit(cache=True, nogil=True)
def epoch(
    texts: LabelledTexts, batches: Longs, order: Longs, used_inputs: NDArray[np.bool_], scale: float,
    rates: Array, decay: float, layers: Layers, slopes: Layers, state: State,
) -> None:  # fmt: skip
    """Changes the parameters by batches of texts, one after the other, in place.

    order        (n,) the texts; batch b has those of `order[batches[b] : batches[b + 1]]`
    used_inputs  (b, k) inputs of tokens used by a batch, times `scale`: dropout (Srivastava et al. 2014)
    """
    kind = texts.inputs.dtype.type
    for b in range(len(rates)):
        columns = np.flatnonzero(used_inputs[b])
        batch = _batch(texts, order[batches[b] : batches[b + 1]], columns)
        units = layers.token.shape[1]
        token = np.empty((len(columns), units), texts.inputs.dtype)
        for i in range(len(columns)):
            for j in range(units):
                token[i, j] = layers.token[columns[i], j] * kind(scale)
        thinned, its = _with_token(layers, token), _with_token(slopes, np.empty_like(token))
        batch_gradients(batch, thinned, its, decay)
        slopes.token[:] = 0
        add_penalty(slopes.token, layers.token, kind(decay))
        for i in range(len(columns)):
            for j in range(units):
                slopes.token[columns[i], j] += its.token[i, j] * kind(scale)
        step(state, rates[b], 0.0)


@numba.njit(cache=True, nogil=True)
def _with_token(layers: Layers, token: Array) -> Layers:
    return Layers(token, *layers[1:])


@numba.njit(cache=True, nogil=True)
def _batch(texts: LabelledTexts, rows: Longs, columns: Longs) -> LabelledTexts:
    offsets = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        offsets[i + 1] = offsets[i] + texts.offsets[rows[i] + 1] - texts.offsets[rows[i]]
    inputs = np.empty((offsets[-1], len(columns)), texts.inputs.dtype)
    bad = np.empty(offsets[-1], texts.bad.dtype)
    for i in range(len(rows)):
        first = texts.offsets[rows[i]]
        for token in range(offsets[i], offsets[i + 1]):
            known = first + token - offsets[i]
            bad[token] = texts.bad[known]
            row = texts.inputs[known]
            for j in range(len(columns)):
                inputs[token, j] = row[columns[j]]
    return LabelledTexts(inputs, offsets, texts.outcomes[rows], texts.weights[rows], bad)


@numba.njit(cache=True, nogil=True)
def batch_gradients(batch: LabelledTexts, layers: Layers, slopes: Layers, decay: float) -> None:
    """Writes the gradients of half the squared error, the tokens' cross-entropy and `text`'s penalty."""
    kind, n = batch.inputs.dtype.type, len(batch.outcomes)
    hidden = np.dot(batch.inputs, layers.token)
    rectify(hidden, layers.token_bias)
    attention = np.dot(hidden, layers.attention)
    pooled = np.empty((n, 2 * hidden.shape[1]), hidden.dtype)
    _pool(hidden, attention, batch.offsets, pooled)
    units = np.dot(pooled, layers.text)
    rectify(units, layers.text_bias)

    error = np.dot(units, layers.outcome)
    for i in range(n):
        weight = batch.weights[i] / kind(n)
        for j in range(error.shape[1]):
            error[i, j] = (error[i, j] + layers.outcome_bias[j] - batch.outcomes[i, j]) * weight
    back = np.dot(error, layers.outcome.T)
    for i in range(n):
        for j in range(back.shape[1]):
            if units[i, j] <= 0:
                back[i, j] = 0
    wrong = np.dot(hidden, layers.bad)
    guess_errors(wrong, layers.bad_bias[0], batch.bad)
    tokens, score = np.empty_like(hidden), np.empty_like(attention)
    gradient = np.dot(back, layers.text.T)
    _unpool(hidden, attention, batch.offsets, pooled, gradient, layers, wrong, tokens, score)

    np.dot(batch.inputs.T, tokens, slopes.token)
    np.dot(hidden.T, wrong, slopes.bad)
    slopes.bad_bias[0] = wrong.sum()
    np.dot(hidden.T, score, slopes.attention)
    np.dot(pooled.T, back, slopes.text)
    add_penalty(slopes.text, layers.text, kind(decay))
    np.dot(units.T, error, slopes.outcome)
    sum_rows(tokens, slopes.token_bias)
    sum_rows(back, slopes.text_bias)
    sum_rows(error, slopes.outcome_bias)


@numba.njit(cache=True, nogil=True)
def _pool(hidden: Array, score: Array, offsets: Longs, pooled: Array) -> None:
    width = hidden.shape[1]
    pooled[:] = 0
    for text in range(len(offsets) - 1):
        first, last = offsets[text], offsets[text + 1]
        highest = score[first:last].max()
        total = 0.0
        for i in range(first, last):
            score[i] = math.exp(score[i] - highest)
            total += score[i]
        share = hidden.dtype.type(1 / (last - first))
        for i in range(first, last):
            score[i] /= total
            for j in range(width):
                pooled[text, j] += share * hidden[i, j]
                pooled[text, width + j] += score[i] * hidden[i, j]


@numba.njit(cache=True, nogil=True)
def _unpool(
    hidden: Array, attention: Array, offsets: Longs, pooled: Array, gradient: Array, layers: Layers,
    wrong: Array, tokens: Array, score: Array,
) -> None:  # fmt: skip
    width = hidden.shape[1]
    zero = hidden.dtype.type(0)
    for text in range(len(offsets) - 1):
        first, last = offsets[text], offsets[text + 1]
        share = hidden.dtype.type(1 / (last - first))
        plain, attended = gradient[text, :width], gradient[text, width:]
        whole = zero
        for j in range(width):
            whole += pooled[text, width + j] * attended[j]
        along = np.dot(hidden[first:last], attended)
        for i in range(first, last):
            score[i] = attention[i] * (along[i - first] - whole)
            for j in range(width):
                through = share * plain[j] + attention[i] * attended[j]
                through += score[i] * layers.attention[j] + wrong[i] * layers.bad[j]
                tokens[i, j] = through if hidden[i, j] > 0 else zero


_TOKEN_UNITS = 64
_TEXT_UNITS = 32
_BATCH = 64  # texts
_RATE = 2e-3
_DECAY = 1e-4


def fit_network(
    texts: Texts,
    learned: Learned,
    *,
    epochs: int,
    seed: int,
    dropout: float = 0.4,
    beginning: Parameters | None = None,
) -> PoolingNetwork:
    """Fits a network by Adam on squared errors and cross-entropy, with a rate that falls to 0."""
    rng = np.random.default_rng(seed)
    parameters = random_beginning(rng, texts.inputs.shape[1], learned.outcomes.shape[1])
    if beginning is not None:
        parameters = {name: beginning[name].copy() for name in parameters}
    n, width = len(learned.outcomes), texts.inputs.shape[1]
    batches = np.append(np.arange(0, n, _BATCH), n)
    steps = len(batches) - 1
    rates = falling_rates(_RATE, epochs * steps).reshape(epochs, steps)
    state, values, gradients = initial_state([parameters[name] for name in Layers._fields])
    layers, slopes = Layers(*values), Layers(*gradients)
    labelled = LabelledTexts(texts.inputs, texts.offsets, learned.outcomes, learned.weights, learned.bad)
    with threadpool_limits(1, "blas"):  # batches are small: threads would only wait for each other
        for each in rates:
            order, seen = rng.permutation(n), rng.random((steps, width)) > dropout
            epoch(labelled, batches, order, seen, 1 / (1 - dropout), each, _DECAY, layers, slopes, state)
    return PoolingNetwork(layers._asdict())


def random_beginning(rng: np.random.Generator, width: int, outcomes: int) -> Parameters:
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


_EPOCHS = 6


@dataclass(frozen=True, eq=False)
class SyntheticExamples:
    """Tokens of one side of n unlabelled translations: columns (n_tokens, k), labels, rate (n,) of BAD."""

    names: tuple[str, ...]
    columns: Matrix
    bad: NDArray[np.bool_]
    offsets: Longs
    rate: FloatArray


@dataclass(frozen=True, eq=False)
class Beginnings:
    columns: tuple[str, ...]
    networks: tuple[PoolingNetwork, ...]

    @classmethod
    def fit(cls, examples: SyntheticExamples, *, networks: int, seed: int) -> "Beginnings":
        inputs = standardised_inputs(examples.columns, (), *moments(examples.columns))
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
        """
        products = (outcomes * outcomes[:, -1:]).mean(axis=0, dtype=np.float64)
        products[-1] = 1.0
        along = np.asarray(products, np.float64)
        widened = []
        for taught in (network.parameters for network in self.networks):
            token = np.zeros((width, taught["token"].shape[1]), np.float32)
            token[columns_in(names, self.columns)] = taught["token"]
            changed = {
                "token": token,
                "outcome": np.asarray(taught["outcome"] * along, np.float32),
                "outcome_bias": np.asarray(taught["outcome_bias"] * along, np.float32),
            }
            widened.append({**taught, **changed})
        return tuple(widened)

    def save(self, path: Path) -> None:
        path.mkdir()
        for i, network in enumerate(self.networks):
            save_network(network, path / f"network{i}")

    @classmethod
    def load(cls, path: Path, columns: tuple[str, ...]) -> "Beginnings":
        return cls(columns, tuple(load_network(folder) for folder in sorted(path.glob("network*"))))


def standardised(values: FloatArray) -> Matrix:
    """Mean 0 and deviation 1; undefined values and constants become 0."""
    deviation = float(np.nanstd(values))
    scaled = (values - np.nanmean(values)) / (deviation if deviation > 0 else 1.0)
    return np.nan_to_num(scaled).astype(np.float32)
