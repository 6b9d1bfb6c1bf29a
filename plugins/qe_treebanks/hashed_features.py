"""Linear models with hashed word features; each pair of feature and label has one weight."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from features.text.tokens import Tokens

Floats = NDArray[np.float32]
Hashes = NDArray[np.uint64]
Ids = NDArray[np.int32]
Longs = NDArray[np.int64]

# Template: pairs (attribute, distance from the word); attribute -1 is the tag of the word.
Template = tuple[tuple[int, int], ...]
TAG: Final = -1
_MOST: Final = 4  # maximum pairs in a template

_SEED: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
NO_TAGS: Final[Hashes] = np.empty(0, np.uint64)
_NO_SUMS: Final = np.empty(0, np.float64)

# Columns of `attributes`.
ATTRIBUTES: Final = (
    "form", "lower", "prefix1", "prefix2", "prefix3", "prefix4", "suffix1", "suffix2", "suffix3", "suffix4",
    "suffix5", "shape", "short_shape", "kind",
)  # fmt: skip


def attributes(types: Sequence[str]) -> Hashes:
    """Attribute hashes (n, 14) of every distinct word; columns as in `ATTRIBUTES`."""
    cells = [hashed(f"{name}={value}") for word in types for name, value in properties(word).items()]
    return np.array(cells, np.uint64).reshape(len(types), len(ATTRIBUTES))


def hashed(text: str) -> int:
    """64 bits of BLAKE2b, equal on every machine and in every process.

    >>> hashed("a") == hashed("a") != hashed("b")
    True
    """
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def properties(word: str) -> dict[str, str]:
    """Attributes of a word as text, by name.

    >>> properties("Xi-22")["shape"], properties("Xi-22")["short_shape"], properties("casas")["suffix2"]
    ('Aa-00', 'Aa-0', 'as')
    """
    lower, upper = word.lower(), word.isupper() and len(word) > 1
    digits, letters = any(map(str.isdigit, word)), any(map(str.isalpha, word))
    kind = "".join("01"[f] for f in (word[:1].isupper(), upper, digits, "-" in word, letters))
    shape = "".join(map(_sign, word))
    short = "".join(a for a, b in zip(shape, " " + shape, strict=False) if a != b)
    values = [
        "".join("0" if c.isdigit() else c for c in word), lower, *(lower[:k] for k in range(1, 5)),
        *(lower[-k:] for k in range(1, 6)), shape[:12], short[:12], f"{min(len(word), 6)}{kind}",
    ]  # fmt: skip
    return dict(zip(ATTRIBUTES, values, strict=True))


def _sign(letter: str) -> str:
    if letter.isalpha():
        return "A" if letter.isupper() else "a"
    return "0" if letter.isdigit() else letter


def templates(text: str) -> tuple[Template, ...]:
    """Parses templates from `attribute+distance` names, separated by `|`; `tag` is the tag of the word.

    >>> templates("lower-1 kind+0|tag+1")
    (((1, -1), (13, 0)), ((-1, 1),))
    """
    return tuple(
        tuple(
            (TAG if name[:-2] == "tag" else ATTRIBUTES.index(name[:-2]), int(name[-2:]))
            for name in part.split()
        )
        for part in text.split("|")
    )


class Texts(NamedTuple):
    """Encoded texts; `attributes` (types, 14) of distinct words, `tags` (n_tokens,) empty if not used."""

    attributes: Hashes
    ids: Ids
    offsets: Longs
    tags: Hashes


def texts_of(tokens: Tokens, hashes: Hashes | None = None, tags: Hashes = NO_TAGS) -> Texts:
    """Encodes texts; `hashes` are attributes of their distinct words, if known."""
    words = attributes(tokens.types) if hashes is None else hashes
    return Texts(words, tokens.ids, tokens.offsets, tags)


class Linear(NamedTuple):
    """A linear model of L labels.

    A feature is the hash of a template and its attributes; its weight for label l is `weights[(feature &
    mask) + l]` (Weinberger et al. 2009, Feature hashing for large scale multitask learning).

    mask     2^k - 1
    weights  (2^k + L,)
    sums     (2^k + L,) of updates times their steps, for averages; empty after training
    """

    templates: Longs
    mask: np.uint64
    weights: Floats
    sums: NDArray[np.float64]


def linear(templates: Longs, weights: Floats, labels: int) -> Linear:
    return Linear(templates, np.uint64(len(weights) - labels - 1), weights, _NO_SUMS)


def untrained(templates: Longs, bits: int, labels: int) -> Linear:
    size = (1 << bits) + labels
    return linear(templates, np.zeros(size, np.float32), labels)._replace(sums=np.zeros(size))


def averaged(model: Linear, steps: int) -> Floats:
    return (model.weights - model.sums / max(steps, 1)).astype(np.float32)


@njit(cache=True, nogil=True)
def update(model: Linear, cells: Longs, right: int, guess: int, step: int) -> None:
    """Perceptron step: increases weights of `cells` for the right label, decreases them for the guess."""
    for cell in cells:
        model.weights[cell + right] += 1.0
        model.sums[cell + right] += step
        model.weights[cell + guess] -= 1.0
        model.sums[cell + guess] -= step


@njit(cache=True, nogil=True)
def best_of(cells: Longs, weights: Floats, candidates: Ids) -> int:
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


@njit(cache=True, nogil=True, inline="always")
def mixed(state: np.uint64, value: np.uint64) -> np.uint64:
    z = (state ^ value) + _SEED
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def template_array(templates: Sequence[Template]) -> NDArray[np.int64]:
    """Templates as an array (t, 4, 2), padded with distances of 99.

    >>> template_array([((1, 0), (1, -1))])[0].tolist()
    [[1, 0], [1, -1], [0, 99], [0, 99]]
    """
    result = np.zeros((len(templates), _MOST, 2), np.int64)
    result[:, :, 1] = 99
    for row, template in zip(result, templates, strict=True):
        row[: len(template)] = template
    return result


@njit(cache=True, nogil=True)
def word_cells(texts: Texts, low: int, high: int, model: Linear) -> Longs:
    """Cells (high - low, templates) of the features of words low..high, which form one text."""
    templates = model.templates
    result = np.empty((high - low, templates.shape[0]), np.int64)
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
                    value = texts.tags[place]
                else:
                    value = texts.attributes[texts.ids[place], attribute]
                state = mixed(state, value)
            result[i - low, t] = np.int64(state & model.mask)
    return result


def atom_templates(text: str, atoms: Sequence[str]) -> NDArray[np.int64]:
    """Indices (t, 5) into `atoms` that each feature combines, padded with -1.

    >>> atom_templates("a|b a", ("a", "b")).tolist()
    [[0, -1, -1, -1, -1], [1, 0, -1, -1, -1]]
    """
    rows = [[atoms.index(a) for a in t.split()] for line in text.split("\n") for t in line.split("|") if t]
    result = np.full((len(rows), 5), -1, np.int64)
    for row, places in zip(result, rows, strict=True):
        row[: len(places)] = places
    return result


@njit(cache=True, nogil=True)
def atom_cells(atoms: Hashes, model: Linear, result: Longs) -> None:
    """Fills `result` (t,) with the cell of every template's feature."""
    templates = model.templates
    for t in range(templates.shape[0]):
        state = np.uint64(t + 1)
        for k in range(templates.shape[1]):
            if templates[t, k] < 0:
                break
            state = mixed(state, atoms[templates[t, k]])
        result[t] = np.int64(state & model.mask)
