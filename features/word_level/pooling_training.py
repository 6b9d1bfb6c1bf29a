"""Training of pooling networks by Adam; epochs are compiled, products of matrices are left to BLAS."""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.word_level.columns import Longs
from features.word_level.network import (
    State,
    falling_rates,
    guess_errors,
    initial_state,
    rectify,
    step,
    sum_rows,
)
from features.word_level.pooling import Learned, Parameters, PoolingNetwork, Texts

Array = NDArray[Any]


class Layers(NamedTuple):
    """Parameters or gradients of a network. k inputs, t units of tokens, s units of texts, m outcomes.

    token (k, t), token_bias (t,)  units of tokens
    bad (t,), bad_bias (1,)        whether a token is BAD
    attention (t,)
    text (2 t, s), text_bias (s,)  units of texts
    outcome (s, m), outcome_bias (m,)
    """

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
    """n texts and what is learned of them.

    inputs (n_tokens, k), offsets (n + 1,)
    outcomes (n, m), weights (n,)  of texts
    bad (n_tokens,)
    """

    inputs: Array
    offsets: Longs
    outcomes: Array
    weights: Array
    bad: Array


@numba.njit(cache=True, nogil=True)
def epoch(
    texts: LabelledTexts,
    batches: Longs,
    order: Longs,
    used_inputs: NDArray[np.bool_],
    scale: float,
    rates: Array,
    decay: float,
    layers: Layers,
    slopes: Layers,
    state: State,
) -> None:
    """Changes the parameters by batches of texts, one after the other, in place.

    order          (n,) the texts; batch b has those of `order[batches[b] : batches[b + 1]]`
    used_inputs    (b, k) the inputs of tokens that a batch sees, times `scale`: the others are left out, and
                   these are larger for it (Srivastava et al. 2014)
    rates          (b,)
    decay          of the weights of tokens and of texts
    layers, slopes views into `state`: parameters, gradients
    """
    kind = texts.inputs.dtype.type
    for b in range(len(rates)):
        columns = np.flatnonzero(used_inputs[b])
        batch = _batch(texts, order[batches[b] : batches[b + 1]], columns)
        token = np.empty((len(columns), layers.token.shape[1]), texts.inputs.dtype)
        for j in range(len(columns)):
            token[j] = layers.token[columns[j]] * kind(scale)
        thinned, its = _with_token(layers, token), _with_token(slopes, np.empty_like(token))
        batch_gradients(batch, thinned, its, decay)
        slopes.token[:] = layers.token * kind(decay)
        for j in range(len(columns)):
            slopes.token[columns[j]] += its.token[j] * kind(scale)
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
    """Writes the gradients of the loss of a batch into `slopes`. The loss is half the mean squared error of
    outcomes, the mean cross-entropy of tokens, and the penalty of `text`.
    """
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
    slopes.text[:] += layers.text * kind(decay)
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
    hidden: Array,
    attention: Array,
    offsets: Longs,
    pooled: Array,
    gradient: Array,
    layers: Layers,
    wrong: Array,
    tokens: Array,
    score: Array,
) -> None:
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
    """Fits a network by Adam on squared errors and cross-entropy. The rate falls to 0; a step leaves out the
    share `dropout` of the inputs of tokens. Initial parameters are `beginning`, else small random numbers.
    The interpreter is free meanwhile: networks learn side by side in threads.
    """
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
