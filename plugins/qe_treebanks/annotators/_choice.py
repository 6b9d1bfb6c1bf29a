"""A choice among candidates for every word: averaged perceptron over hashed features. What a word can be is
limited by a tag that is known already, as its morphology by its part of speech.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from features.basics.progress import Progress, silent
from features.text.tokens import Tokens
from qe_treebanks.linear import Floats, Hashes, Template, features_of, template_array
from qe_treebanks.words import attributes, hashed

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ChoiceModel:
    """A linear model that chooses among the labels that a tag allows.

    labels      (L,) names
    tags        (T,) names of what limits the choice
    templates   what a feature looks at; attribute -1 is the tag
    weights     (2^k + L,)
    candidates  the labels that a tag allows: candidates[starts[t]:starts[t + 1]], at least one of each
    starts      (T + 1,)
    """

    labels: tuple[str, ...]
    tags: tuple[str, ...]
    templates: tuple[Template, ...]
    weights: Floats
    candidates: Ids
    starts: Longs

    def predict(self, tokens: Tokens, tags: Ids, hashes: Hashes | None = None) -> Ids:
        """(n_tokens,) index into `labels`; `tags` are indices into the model's."""
        words = attributes(tokens.types) if hashes is None else hashes
        mask = np.uint64(len(self.weights) - len(self.labels) - 1)
        result = np.empty(len(tokens.ids), np.int32)
        _predict(
            words, tokens.ids, tokens.offsets, tags, tag_hashes(self.tags)[tags],
            template_array(self.templates), mask, self.weights, self.candidates, self.starts, result,
        )  # fmt: skip
        return result


def tag_hashes(tags: Sequence[str]) -> Hashes:
    """(T,) what features see of a tag."""
    return np.array([hashed(f"tag={tag}") for tag in tags], np.uint64)


def fit(
    tokens: Tokens,
    tags: Ids,
    gold: Ids,
    tag_names: Sequence[str],
    labels: Sequence[str],
    templates: Sequence[Template],
    *,
    bits: int = 20,
    epochs: int = 8,
    seed: int = 0,
    progress: Progress = silent,
    stage: str = "training",
) -> ChoiceModel:
    """Fit a model of choices. A tag allows the labels seen with it; a tag never seen allows the most
    frequent label.
    """
    seen: list[set[int]] = [set() for _ in tag_names]
    for tag, label in zip(tags.tolist(), gold.tolist(), strict=True):
        seen[tag].add(label)
    usual = int(np.bincount(gold).argmax()) if len(gold) else 0
    lists = [sorted(choices) or [usual] for choices in seen]
    candidates = np.array([label for choices in lists for label in choices], np.int32)
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    weights = np.zeros((1 << bits) + len(labels), np.float32)
    sums = np.zeros(len(weights))
    words, shapes, hashes = attributes(tokens.types), template_array(templates), tag_hashes(tag_names)[tags]
    random, steps = np.random.default_rng(seed), 0
    for epoch in range(epochs):
        steps = _epoch(
            words, tokens.ids, tokens.offsets, tags, hashes, gold, random.permutation(len(tokens)), shapes,
            np.uint64((1 << bits) - 1), weights, sums, candidates, starts, steps,
        )  # fmt: skip
        progress(stage, epoch + 1, epochs)
    average = (weights - sums / max(steps, 1)).astype(np.float32)
    return ChoiceModel(tuple(labels), tuple(tag_names), tuple(templates), average, candidates, starts)


@njit(cache=True, nogil=True)
def _best(cells: Longs, weights: Floats, candidates: Ids) -> int:
    best, top = int(candidates[0]), np.float32(-np.inf)
    if len(candidates) == 1:
        return best
    for label in candidates:
        score = np.float32(0.0)
        for cell in cells:
            score += weights[cell + label]
        if score > top:
            best, top = int(label), score
    return best


@njit(cache=True, nogil=True)
def _predict(
    words: Hashes,
    ids: Ids,
    offsets: Longs,
    tags: Ids,
    hashes: Hashes,
    templates: Longs,
    mask: np.uint64,
    weights: Floats,
    candidates: Ids,
    starts: Longs,
    result: Ids,
) -> None:
    for k in range(len(offsets) - 1):
        low, high = offsets[k], offsets[k + 1]
        cells = np.empty((high - low, templates.shape[0]), np.int64)
        features_of(words, ids, hashes, low, high, templates, mask, cells)
        for i in range(low, high):
            tag = tags[i]
            result[i] = _best(cells[i - low], weights, candidates[starts[tag] : starts[tag + 1]])


@njit(cache=True, nogil=True)
def _epoch(
    words: Hashes,
    ids: Ids,
    offsets: Longs,
    tags: Ids,
    hashes: Hashes,
    gold: Ids,
    order: Longs,
    templates: Longs,
    mask: np.uint64,
    weights: Floats,
    sums: NDArray[np.float64],
    candidates: Ids,
    starts: Longs,
    steps: int,
) -> int:
    for k in order:
        low, high = offsets[k], offsets[k + 1]
        cells = np.empty((high - low, templates.shape[0]), np.int64)
        features_of(words, ids, hashes, low, high, templates, mask, cells)
        steps += 1
        for i in range(low, high):
            tag, right = tags[i], gold[i]
            guess = _best(cells[i - low], weights, candidates[starts[tag] : starts[tag + 1]])
            if guess != right:
                for cell in cells[i - low]:
                    weights[cell + right] += 1.0
                    sums[cell + right] += steps
                    weights[cell + guess] -= 1.0
                    sums[cell + guess] -= steps
    return steps
