"""Decoder text: distance between a decoder's subwords and the translation they form."""

import html
import unicodedata

import numpy as np
from rapidfuzz.distance import Levenshtein

from features.basics.array_types import FloatArray
from features.core.segments import Segments

_MARKERS = ("@@", "\u0120", "\u2581")  # subword markers of BPE, GPT and SentencePiece


def mismatch(segments: Segments) -> FloatArray:
    """Share (n,) of letters and digits that differ between subwords and translation; 0 without subwords."""
    if segments.subwords is None:
        return np.zeros(len(segments))
    pairs = zip(segments.subwords, segments.target, strict=True)
    return np.array([_distance(subwords, target) for subwords, target in pairs], np.float64)


def _distance(subwords: str, target: str) -> float:
    for marker in _MARKERS:
        subwords = subwords.replace(marker, " ")
    return float(Levenshtein.normalized_distance(_letters(subwords), _letters(target)))


def _letters(text: str) -> str:
    composed = unicodedata.normalize("NFKC", html.unescape(text)).casefold()
    return "".join(filter(str.isalnum, composed))
