"""Small networks of an ensemble: compiled code beside one wide layer in NumPy.

In double and single precision.

python benchmarks/studies/speed_mlp_ensemble.py [--networks 64] [--rows 1320] [--columns 27]

All ways draw the same initial weights and batches, and are given one thread of BLAS. CPU milliseconds a
network, and how far what the networks say lies from double precision at most, in deviations of the labels.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from qe_papers.learners.mlp_ensemble import MlpEnsemble

Array = NDArray[Any]


def main() -> None:
    """Prints a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=64)
    parser.add_argument("--rows", type=int, default=1320)
    parser.add_argument("--columns", type=int, default=27)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(arguments.rows, arguments.columns))
    y = X[:, 0] + np.sin(X[:, -1]) + 0.5 * rng.normal(size=len(X))
    y = (y - y.mean()) / y.std()
    model = MlpEnsemble(arguments.networks)
    MlpEnsemble(2, epochs=1).fit(X, y)  # compiles
    with threadpool_limits(1, "blas"):
        said, first = timed(lambda: wide_layer(model, X, y, np.float64))
        print(f"NumPy, double precision  {1e3 * first / arguments.networks:6.2f} ms")
        for name, way in (
            ("NumPy, single precision", lambda: wide_layer(model, X, y, np.float32)),
            ("compiled, single", lambda: model.fit(X, y).predict_members(X)),
        ):
            other, seconds = timed(way)
            off = np.abs(other - said).max()
            each = 1e3 * seconds / arguments.networks
            print(f"{name:24s} {each:6.2f} ms, {first / seconds:.1f} times as fast, differs by {off:.0e}")


def timed(run: Any) -> tuple[Array, float]:
    """What `run` gives, and its CPU seconds."""
    started = time.process_time()
    return run(), time.process_time() - started


def batches(model: MlpEnsemble, n: int, rng: np.random.Generator) -> Iterator[Array]:
    """The rows of every step."""
    for _ in range(model.epochs):
        yield from np.split(rng.permutation(n), range(model.batch_size, n, model.batch_size))


def wide_layer(model: MlpEnsemble, X: Array, y: Array, kind: type) -> Array:
    """(n, m) what all networks say, trained as one layer of (m h) units."""
    m, h = model.n_members, model.hidden
    rng, one = np.random.default_rng(model.seed), kind(1)
    X, labels = X.astype(kind), y.astype(kind)[:, None]
    into = rng.normal(scale=X.shape[1] ** -0.5, size=(X.shape[1], m * h))
    parts = into, np.zeros(m * h), rng.normal(scale=h**-0.5, size=(m, h)), np.zeros(m)
    weights = [part.astype(kind) for part in parts]
    moments = [(np.zeros_like(part), np.zeros_like(part)) for part in weights]

    def forward(rows: Array) -> tuple[Array, Array]:
        units = np.tanh(X[rows] @ weights[0] + weights[1]).reshape(-1, m, h)
        return units, np.einsum("nmh,mh->nm", units, weights[2]) + weights[3]

    steps = model.epochs * -(-len(X) // model.batch_size)
    for step, rows in enumerate(batches(model, len(X), rng)):
        units, outputs = forward(rows)
        errors = (outputs - labels[rows]) / kind(len(rows))
        back = (errors[:, :, None] * weights[2] * (one - units**2)).reshape(len(rows), -1)
        gradients = [
            X[rows].T @ back, back.sum(axis=0), np.einsum("nm,nmh->mh", errors, units), errors.sum(axis=0)
        ]  # fmt: skip
        rate = kind(model.learning_rate * (1 - step / steps))
        lift, lift_second = kind(1 - 0.9 ** (step + 1)), kind(1 - 0.999 ** (step + 1))
        for part, gradient, (first, second) in zip(weights, gradients, moments, strict=True):
            first += kind(0.1) * (gradient - first)
            second += kind(0.001) * (gradient**2 - second)
            decay = kind(model.weight_decay if part.ndim == 2 else 0)
            part -= rate * (first / lift / (np.sqrt(second / lift_second) + kind(1e-8)) + decay * part)
    return forward(np.arange(len(X)))[1]


if __name__ == "__main__":
    main()
