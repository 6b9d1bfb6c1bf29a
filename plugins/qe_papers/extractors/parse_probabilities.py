"""Probabilities and number of a segment's parses."""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.text.annotation import Annotated
from qe_papers.families import AnnotationFamily, Measure, Sides

_DFKI: Final = "Avramidis 2012 (DFKI), section 2.2.1 (there the Berkeley parser)"


@dataclass(frozen=True, eq=False)
class Parses:
    """Parses of a text: log-probabilities, best first (none: not comparable); whether only `plain` parses."""

    plain: bool | None
    log: FloatArray
    words: int


def parses_of(annotated: Annotated) -> list[Parses]:
    """Parses (n,); raises InputError if probabilities are missing."""
    lists, lengths = annotated.value_lists("tree_log_probabilities"), annotated.tokens.lengths.tolist()
    result = []
    for number, (tree, text, log, words) in enumerate(
        zip(annotated.parses, annotated.blocks, lists, lengths, strict=True), start=1
    ):
        if tree and not (len(log) and np.isfinite(log).all()):
            raise _no_probabilities(annotated.location, number)
        plain = "# tree_grammar = plain" in text
        result.append(Parses(plain if tree else None, np.empty(0) if plain else log, words))
    return result


def _no_probabilities(location: str, number: int) -> InputError:
    return InputError(
        "the parse has no probabilities",
        location=f"{location}, segment {number}",
        remedy="annotate with an annotator of constituents, or give `# tree_log_probabilities = -81.2 -83`",
    )


def _best(parses: Parses) -> float:
    return float(parses.log[0]) if len(parses.log) else np.nan


def _by_word(parses: Parses) -> float:
    return _best(parses) / parses.words if parses.words else np.nan


def _number(parses: Parses) -> float:
    return len(parses.log) or np.nan


def _mean(parses: Parses) -> float:
    return float(parses.log.mean()) if len(parses.log) else np.nan


def _spread(parses: Parses) -> float:
    return _best(parses) - _mean(parses)


def _shares(parses: Parses) -> FloatArray:
    weights = np.exp(parses.log - parses.log.max(initial=-np.inf))
    return np.asarray(weights / weights.sum())


def _confidence(parses: Parses) -> float:
    return float(_shares(parses)[0]) if len(parses.log) else np.nan


def _entropy(parses: Parses) -> float:
    if not len(parses.log):
        return np.nan
    shares = _shares(parses)
    return float(-(shares * np.log(np.maximum(shares, np.finfo(np.float64).tiny))).sum())


def _plain(parses: Parses) -> float:
    return np.nan if parses.plain is None else float(parses.plain)


_BEST: Final = "logarithm of the best parse's probability"
_SURE: Final = "share of the best parse in the probability of the n best"
MEASURES: Final = (
    Measure("log_probability", _BEST, _DFKI, "nat", _best, ratio=True),
    Measure("log_probability_by_word", f"{_BEST}, by word", _DFKI, "nat", _by_word),
    Measure("trees", "how many parses there are among the n best", _DFKI, "parses", _number, ratio=True),
    Measure("confidence", _SURE, _DFKI, "share", _confidence, ratio=True),
    Measure("mean_log_probability", "mean of the n best's logarithms", _DFKI, "nat", _mean, ratio=True),
    Measure("spread", f"{_BEST} less the mean of the n best", _DFKI, "nat", _spread),
    Measure("entropy", "entropy of the n best parses", _DFKI, "nat", _entropy),
    Measure("plain", "1 if only the plain grammar has a tree", "this project", "share", _plain),
)


@dataclass(frozen=True)
class ParseProbabilities(AnnotationFamily):
    """Log-likelihood of the best parse; number, confidence and spread of the n best.

    sides  parsed sides

    An annotator trained with `n_best=100` gives at most 100 parses; with a single parse the spread is 0 and
    the confidence 1. All values except `plain` are NaN for a text without a tree, and for a text that only
    the plain grammar parses, whose probabilities are not comparable.

    Raises InputError for a text that was not parsed, or whose parse has no probabilities.
    """

    plain: ClassVar[str] = "how well the sentences of the {text} are formed"

    sides: Sides = "both"

    stem = "parse"
    measures = MEASURES

    def read(self, annotated: Annotated) -> list[Parses]:
        return parses_of(annotated)
