"""How a pooling network is trained: batches of texts, dropout, gradients, Adam."""

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.word_level.adam import falling_rates, initial_state
from features.word_level.pooling import Learned, Parameters, PoolingNetwork, Texts
from features.word_level.pooling_kernels import LabelledTexts, Layers, epoch

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
