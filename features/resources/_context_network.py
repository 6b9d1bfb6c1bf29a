"""ContextNetwork: a small network that tells a word from the words beside it and the words it translates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.core.array_types import FloatArray
from features.core.rows import row_products

Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Report = Callable[[int, int], None]

_BATCH = 512  # tokens
_SAMPLES = 1024  # words that every batch tells its own from
_RATE = 0.05  # of Adagrad, falling to 0
_DROPPED = 0.2  # share of hidden units
_ROWS = 256  # scored at a time


@dataclass(frozen=True, eq=False)
class ContextNetwork:
    """ReLU units over the vectors of the words in a context; a softmax over the words of the target.

    target, source       (words, d) vectors; row 0: any word that is not known
    hidden, hidden_bias  (slots * d, h), (h,)
    output, output_bias  (words of the target, h), (words of the target,)

    The slots of a context are words of the target first, words of the source after them.

    Source: Devlin et al. 2014, section 2, with words on both sides as Kim et al. 2017 have them; learned by
    sampled softmax (Jean et al. 2015), by Adagrad (Duchi et al. 2011).
    """

    target: Singles
    source: Singles
    hidden: Singles
    hidden_bias: Singles
    output: Singles
    output_bias: Singles

    @classmethod
    def beginning(
        cls, words: tuple[int, int], slots: int, dimensions: int, units: int, seed: int
    ) -> "ContextNetwork":
        """Small random numbers; `words` of the target and of the source."""
        rng = np.random.default_rng(seed)
        shapes = {
            "target": ((words[0], dimensions), 0.1),
            "source": ((words[1], dimensions), 0.1),
            "hidden": ((slots * dimensions, units), (2 / (slots * dimensions)) ** 0.5),
            "hidden_bias": ((units,), 0.0),
            "output": ((words[0], units), 0.05),
            "output_bias": ((words[0],), 0.0),
        }
        return cls(**{name: _normal(rng, shape, scale) for name, (shape, scale) in shapes.items()})

    def trained(
        self, contexts: Ints, words: Ints, own: int, *, epochs: int, seed: int, report: Report
    ) -> "ContextNetwork":
        """Learns the (n,) words from their (n, slots) contexts, of which `own` are of the target."""
        parameters = {name: np.array(value) for name, value in vars(self).items()}
        squares = {name: np.full_like(value, 1e-6) for name, value in parameters.items()}
        rng = np.random.default_rng(seed)
        batches = -(-len(words) // _BATCH)
        steps, done = epochs * batches, 0
        with threadpool_limits(1, "blas"):  # batches are small: threads would only wait for each other
            for _ in range(epochs):
                order = rng.permutation(len(words))
                for first in range(0, len(words), _BATCH):
                    rows = np.sort(order[first : first + _BATCH])
                    rate = np.float32(_RATE * (1 - done / steps))
                    _step(parameters, squares, contexts[rows], words[rows], own, rate, rng)
                    done += 1
                    if done % 200 == 0:
                        report(done, steps)
        return ContextNetwork(**parameters)

    def units(self, contexts: Ints, own: int) -> Singles:
        """(n, h) hidden units; a row does not depend on the others."""
        result = np.empty((len(contexts), len(self.hidden_bias)), np.float32)
        weights = self.hidden.astype(np.float64)
        for first in range(0, len(contexts), _ROWS):
            inputs = _inputs(self.target, self.source, contexts[first : first + _ROWS], own)
            result[first : first + _ROWS] = np.maximum(row_products(inputs, weights) + self.hidden_bias, 0)
        return result

    def predictions(self, units: Singles, words: Ints) -> Singles:
        """(n, 4) of each word: log-probability, log of 1 + more probable words, log-probability of the best
        word less its own, entropy; natural logarithms. A row does not depend on the others.
        """
        result = np.empty((len(words), 4), np.float32)
        weights = np.ascontiguousarray(self.output.T, np.float64)
        for first in range(0, len(words), _ROWS):
            logits = row_products(units[first : first + _ROWS], weights) + self.output_bias
            result[first : first + _ROWS] = _summaries(logits, words[first : first + _ROWS])
        return result


def _summaries(logits: FloatArray, words: Ints) -> FloatArray:
    highest = logits.max(axis=1, keepdims=True)
    shifted = logits - highest
    raised = np.exp(shifted)
    total = raised.sum(axis=1)
    own = np.take_along_axis(shifted, words[:, None].astype(np.int64), axis=1)
    entropy = np.log(total) - (raised * shifted).sum(axis=1) / total
    above = (shifted > own).sum(axis=1)
    return np.column_stack([own[:, 0] - np.log(total), np.log1p(above), -own[:, 0], entropy])


def _normal(rng: np.random.Generator, shape: Any, scale: float) -> Singles:
    drawn = rng.standard_normal(shape, np.float32) * np.float32(scale)
    return np.asarray(drawn, np.float32)


def _inputs(target: Singles, source: Singles, contexts: Ints, own: int) -> Singles:
    """(n, slots * d) the vectors of the words of each context, one after the other."""
    left, right = target[contexts[:, :own]], source[contexts[:, own:]]
    return np.concatenate([left, right], axis=1).reshape(len(contexts), -1)


def _step(
    parameters: dict[str, Singles],
    squares: dict[str, Singles],
    contexts: Ints,
    words: Ints,
    own: int,
    rate: Any,
    rng: np.random.Generator,
) -> None:
    """One batch; changes the parameters and the sums of squared gradients in place."""
    p = parameters
    inputs = _inputs(p["target"], p["source"], contexts, own)
    active = np.maximum(inputs @ p["hidden"] + p["hidden_bias"], 0)
    kept = (rng.random(active.shape, np.float32) >= _DROPPED) / np.float32(1 - _DROPPED)
    units = active * kept.astype(np.float32)
    sampled = _sample(rng, len(p["output"]))
    error, back, output = _told_apart(p, units, words, sampled)
    hidden = back * kept * (active > 0)
    vectors = (hidden @ p["hidden"].T).reshape(len(words), contexts.shape[1], -1)
    _dense(p, squares, "hidden", inputs.T @ hidden, rate)
    _dense(p, squares, "hidden_bias", hidden.sum(axis=0), rate)
    ids = np.concatenate([words, sampled])
    _sparse(p, squares, "output", ids, output, rate)
    _sparse(p, squares, "output_bias", ids, error, rate)
    width = vectors.shape[2]
    _sparse(p, squares, "target", contexts[:, :own].ravel(), vectors[:, :own].reshape(-1, width), rate)
    _sparse(p, squares, "source", contexts[:, own:].ravel(), vectors[:, own:].reshape(-1, width), rate)


def _told_apart(p: dict[str, Singles], units: Singles, words: Ints, sampled: Ints) -> Any:
    """Of words and samples: gradients of their biases; of the units; gradients of their output vectors."""
    frequency = np.log(_probability(np.concatenate([words, sampled]), len(p["output"])) * _SAMPLES)
    correction = frequency.astype(np.float32)
    right, others = p["output"][words], p["output"][sampled]
    n = len(words)
    own = (units * right).sum(axis=1) + p["output_bias"][words] - correction[:n]
    rest = units @ others.T + p["output_bias"][sampled] - correction[n:]
    rest[words[:, None] == sampled[None, :]] = -np.inf
    highest = np.maximum(own, rest.max(axis=1))
    own, rest = np.exp(own - highest), np.exp(rest - highest[:, None])
    total = own + rest.sum(axis=1)
    wrong, shares = (own / total - 1) / np.float32(n), rest / (total[:, None] * np.float32(n))
    back = wrong[:, None] * right + shares @ others
    output = np.concatenate([wrong[:, None] * units, shares.T @ units])
    return np.concatenate([wrong, shares.sum(axis=0)]), back, output


def _sample(rng: np.random.Generator, size: int) -> Ints:
    """Words drawn by rank of frequency: p(k) is about 1 / k."""
    drawn = np.exp(rng.random(_SAMPLES) * np.log(size + 1)) - 1
    return np.unique(np.minimum(drawn.astype(np.int32), size - 1))


def _probability(words: Ints, size: int) -> NDArray[np.float64]:
    return np.asarray(np.log1p(1 / (words + 1.0)) / np.log(size + 1), np.float64)


def _dense(
    p: dict[str, Singles], squares: dict[str, Singles], name: str, gradient: Singles, rate: Any
) -> None:
    squares[name] += gradient * gradient
    p[name] -= rate * gradient / np.sqrt(squares[name])


def _sparse(
    p: dict[str, Singles], squares: dict[str, Singles], name: str, ids: Ints, gradient: Singles, rate: Any
) -> None:
    """For rows that may occur several times."""
    order = np.argsort(ids, kind="stable")
    rows, starts = np.unique(ids[order], return_index=True)
    total = np.add.reduceat(gradient[order], starts, axis=0)
    squares[name][rows] += total * total
    p[name][rows] -= rate * total / np.sqrt(squares[name][rows])
