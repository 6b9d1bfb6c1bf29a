"""ContextNetwork: a small network that tells a word from its neighbours and source words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.rows import row_products, single_row_products
from features.resources._context_learning import Ints, Report, Singles, inputs_of, learned
from features.resources._softmax import summarise

_ROWS = 256  # scored at a time
_TOGETHER = 8  # summed up at a time: their logits fit into the processor's cache


@dataclass(frozen=True, eq=False)
class ContextNetwork:
    """ReLU units over the vectors of a context's words; softmax over target words.

    target, source       (words, d) vectors; row 0: any word that is not known
    hidden, hidden_bias  (slots * d, h), (h,)
    output, output_bias  (words of the target, h), (words of the target,)

    The slots of a context are words of the target first, words of the source after them. Source: Devlin et
    al. 2014, section 2, with words on both sides as Kim et al. 2017 have them; learned by sampled softmax
    (Jean et al. 2015), by Adagrad (Duchi et al. 2011).
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
        self, contexts: Ints, words: Ints, target_slots: int, *, epochs: int, seed: int, report: Report
    ) -> "ContextNetwork":
        """Learns the (n,) words from their (n, slots) contexts, of which `target_slots` are of the target."""
        arrays = learned(vars(self), contexts, words, target_slots, epochs=epochs, seed=seed, report=report)
        return ContextNetwork(**arrays)

    def units(self, contexts: Ints, target_slots: int) -> Singles:
        """(n, h) hidden units; a row does not depend on the others."""
        result = np.empty((len(contexts), len(self.hidden_bias)), np.float32)
        weights = self.hidden.astype(np.float64)
        for first in range(0, len(contexts), _ROWS):
            inputs = inputs_of(self.target, self.source, contexts[first : first + _ROWS], target_slots)
            result[first : first + _ROWS] = np.maximum(row_products(inputs, weights) + self.hidden_bias, 0)
        return result

    def predictions(self, units: Singles, words: Ints, *, single: bool = False) -> Singles:
        """(n, 4) scores of each word. Log-probability, log of 1 + more probable words, log-probability of the
        best word less its own, entropy; natural logarithms. A row does not depend on the others. `single`:
        computed in single precision, the same to some 1e-5 in half of the time.
        """
        return self._singly(units, words) if single else self._doubly(units, words)

    def _singly(self, units: Singles, words: Ints) -> Singles:
        result = np.empty((len(words), 4), np.float32)
        for first in range(0, len(words), _ROWS):
            rows = slice(first, first + _ROWS)
            logits = single_row_products(units[rows], self.output.T)
            summarise(logits, self.output_bias, words[rows], result[rows])
        return result

    def _doubly(self, units: Singles, words: Ints) -> Singles:
        result = np.empty((len(words), 4), np.float32)
        weights = np.ascontiguousarray(self.output.T, np.float64)
        logits = np.empty((_ROWS, len(self.output_bias)))  # one of them: new ones cost more than the sums
        for first in range(0, len(words), _ROWS):
            end = min(first + _ROWS, len(words))
            row_products(units[first:end], weights, logits[: end - first])
            for row in range(first, end, _TOGETHER):
                last = min(row + _TOGETHER, end)
                target_slots = logits[row - first : last - first] + self.output_bias
                result[row:last] = _summaries(target_slots, words[row:last])
        return result


def _summaries(logits: FloatArray, words: Ints) -> FloatArray:
    highest = logits.max(axis=1, keepdims=True)
    shifted = logits - highest
    raised = np.exp(shifted)
    total = raised.sum(axis=1)
    target_slots = np.take_along_axis(shifted, words[:, None].astype(np.int64), axis=1)
    entropy = np.log(total) - (raised * shifted).sum(axis=1) / total
    above = (shifted > target_slots).sum(axis=1)
    return np.column_stack(
        [target_slots[:, 0] - np.log(total), np.log1p(above), -target_slots[:, 0], entropy]
    )


def _normal(rng: np.random.Generator, shape: Any, scale: float) -> Singles:
    drawn = rng.standard_normal(shape, np.float32) * np.float32(scale)
    return np.asarray(drawn, np.float32)
