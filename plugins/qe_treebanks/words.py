"""What a word shows of itself: form, beginnings, ends, shape; each as a 64-bit hash."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from qe_treebanks.linear import TAG, Template

Hashes = NDArray[np.uint64]

# Columns of `attributes`.
ATTRIBUTES: Final = (
    "form", "lower", "prefix1", "prefix2", "prefix3", "prefix4", "suffix1", "suffix2", "suffix3", "suffix4",
    "suffix5", "shape", "short_shape", "kind",
)  # fmt: skip


def attributes(types: Sequence[str]) -> Hashes:
    """(n, 14) hashes of what every distinct word shows; columns as in `ATTRIBUTES`."""
    cells = [hashed(f"{name}={value}") for word in types for name, value in properties(word).items()]
    return np.array(cells, np.uint64).reshape(len(types), len(ATTRIBUTES))


def hashed(text: str) -> int:
    """64 bits of BLAKE2b: the same on every machine and in every process.

    >>> hashed("a") == hashed("a") != hashed("b")
    True
    """
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def properties(word: str) -> dict[str, str]:
    """The attributes of a word as text, by name.

    >>> properties("Xi-22")["shape"], properties("Xi-22")["short_shape"], properties("casas")["suffix2"]
    ('Aa-00', 'Aa-0', 'as')
    """
    lower = word.lower()
    shape = "".join(map(_sign, word))
    short = "".join(a for a, b in zip(shape, " " + shape, strict=False) if a != b)
    values = [
        "".join("0" if c.isdigit() else c for c in word), lower, *(lower[:k] for k in range(1, 5)),
        *(lower[-k:] for k in range(1, 6)), shape[:12], short[:12], _kind(word),
    ]  # fmt: skip
    return dict(zip(ATTRIBUTES, values, strict=True))


def _sign(letter: str) -> str:
    if letter.isalpha():
        return "A" if letter.isupper() else "a"
    return "0" if letter.isdigit() else letter


def _kind(word: str) -> str:
    flags = (
        word[:1].isupper(), word.isupper() and len(word) > 1, any(c.isdigit() for c in word), "-" in word,
        any(c.isalpha() for c in word),
    )  # fmt: skip
    return f"{min(len(word), 6)}{''.join('01'[f] for f in flags)}"


def templates(text: str) -> tuple[Template, ...]:
    """Templates from `attribute+distance` names, `|` between them; `tag` is the tag of the word.

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
