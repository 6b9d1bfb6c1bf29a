"""Linear models with hashed features. The weight of a feature for a label is one cell of a flat array.

A feature is the hash of a template and of the attributes that the template names; its weight for label l is
`weights[(feature & mask) + l]`, so that the weights of its labels lie side by side (Weinberger et al. 2009,
Feature hashing for large scale multitask learning). No dictionary of features has to be kept, and no index
can lie outside of the array.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Hashes = NDArray[np.uint64]

# A template: (attribute, distance from the word) pairs; attribute -1 is the tag of the word.
Template = tuple[tuple[int, int], ...]
TAG: Final = -1
_MOST: Final = 4  # pairs of a template

_SEED: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True, inline="always")
def mixed(state: np.uint64, value: np.uint64) -> np.uint64:
    """One step of a hash over 64-bit values (the finalizer of SplitMix64)."""
    z = (state ^ value) + _SEED
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def template_array(templates: Sequence[Template]) -> NDArray[np.int64]:
    """(t, 4, 2) the templates as an array; distances of 99 fill the rest.

    >>> template_array([((1, 0), (1, -1))])[0].tolist()
    [[1, 0], [1, -1], [0, 99], [0, 99]]
    """
    result = np.zeros((len(templates), _MOST, 2), np.int64)
    result[:, :, 1] = 99
    for row, template in zip(result, templates, strict=True):
        row[: len(template)] = template
    return result


@njit(cache=True, nogil=True)
def features_of(
    attributes: Hashes,
    ids: NDArray[np.int32],
    tags: Hashes,
    low: int,
    high: int,
    templates: NDArray[np.int64],
    mask: np.uint64,
    result: NDArray[np.int64],
) -> None:
    """Write the cells of word features into `result` (high - low, t). The words are low..high of one text."""
    for i in range(low, high):
        for t in range(templates.shape[0]):
            state = np.uint64(t + 1)
            for k in range(templates.shape[1]):
                distance = templates[t, k, 1]
                if distance == 99:
                    break
                place, attribute = i + distance, templates[t, k, 0]
                if place < low:
                    value = np.uint64(1 + low - place)
                elif place >= high:
                    value = np.uint64(101 + place - high)
                elif attribute < 0:
                    value = tags[place]
                else:
                    value = attributes[ids[place], attribute]
                state = mixed(state, value)
            result[i - low, t] = np.int64(state & mask)


def atom_templates(text: str, atoms: Sequence[str]) -> NDArray[np.int64]:
    """(t, 5) which atoms each feature joins, by their place in `atoms`; -1 fills the rest.

    text  features between `|` or line ends, atoms between blanks

    >>> atom_templates("a|b a", ("a", "b")).tolist()
    [[0, -1, -1, -1, -1], [1, 0, -1, -1, -1]]
    """
    rows = [[atoms.index(a) for a in t.split()] for line in text.split("\n") for t in line.split("|") if t]
    result = np.full((len(rows), 5), -1, np.int64)
    for row, places in zip(result, rows, strict=True):
        row[: len(places)] = places
    return result


@njit(cache=True, nogil=True)
def atom_cells(
    atoms: Hashes, templates: NDArray[np.int64], mask: np.uint64, result: NDArray[np.int64]
) -> None:
    """Fills `result` (t,) with the cell of every template's feature."""
    for t in range(templates.shape[0]):
        state = np.uint64(t + 1)
        for k in range(templates.shape[1]):
            if templates[t, k] < 0:
                break
            state = mixed(state, atoms[templates[t, k]])
        result[t] = np.int64(state & mask)
