"""Link grammar of a text: number of linkages, completeness, cost."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from features.basics.errors import InputError
from features.basics.hints import Count
from features.core.columns import Column
from features.text.annotation import Annotated
from qe_papers.families import AnnotationFamily, Measure, Sides, columns_of

FIGURES: Final = ("linkages", "unused", "cost", "length")  # annotation comments `link_grammar_...`

_DCU: Final = "Rubino et al. 2012 (DCU-SYMC), section 3.2 (there the precision grammar of XLE)"
_BINARY: Final = f"{_DCU}, footnote 5, which prints no limit"
_OWN: Final = "this project: what the program says of its best linkage"


@dataclass(frozen=True)
class Linkage:
    """Linkages; unused words (walls too), cost and length in words of the best one; NaN without one."""

    linkages: float
    unused: float
    cost: float
    length: float
    words: int


def linkages_of(annotated: Annotated, timed_out: bool = False) -> list[Linkage]:
    """Linkages (n,); raises InputError for invalid or, unless `timed_out`, missing numbers."""
    table = np.column_stack([annotated.values(f"link_grammar_{name}") for name in FIGURES])
    result = []
    for number, (figures, text, words) in enumerate(
        zip(table.tolist(), annotated.blocks, annotated.tokens.lengths.tolist(), strict=True), start=1
    ):
        location = f"{annotated.location}, segment {number}"
        if "# link_grammar_" in text:
            _check(figures, location)
        elif words and not timed_out:
            raise InputError(
                "link grammar says nothing of the text: it was not asked, or gave up",
                location=location,
                remedy="annotate with `+link-grammar` after the annotator's name; texts that it gave up on "
                "are undefined with `timed_out: true`",
            )
        linkages, unused, cost, length = figures
        result.append(Linkage(linkages, unused, cost, length, words))
    return result


def _check(figures: Sequence[float], location: str) -> None:
    linkages, unused, _, length = figures
    if not (np.isfinite(figures).all() and linkages >= 1 and unused >= 0 and length >= 0):
        given = ", ".join(f"{name} = {value:g}" for name, value in zip(FIGURES, figures, strict=True))
        raise InputError(
            f"linkages must be 1 or more, unused words and length from 0, cost a number, but got {given}",
            location=location,
            remedy="give all of `# link_grammar_linkages = 12`, ..._unused, ..._cost, ..._length, or none",
        )


def _complete(linkage: Linkage) -> float:
    return np.nan if np.isnan(linkage.unused) else float(linkage.unused == 0)


def _by_word(linkage: Linkage, measure: Callable[[Linkage], float]) -> float:
    return measure(linkage) / linkage.words if linkage.words else np.nan


def _at_most_linkages(linkage: Linkage, limit: int) -> float:
    return np.nan if np.isnan(linkage.linkages) else float(linkage.linkages < limit)


def _timed_out(linkage: Linkage) -> float:
    return float(np.isnan(linkage.linkages)) if linkage.words else np.nan


def _cost(linkage: Linkage) -> float:
    return linkage.cost


def _length(linkage: Linkage) -> float:
    return linkage.length


def _below(limits: Sequence[int]) -> Iterator[Measure[Linkage]]:
    for limit in limits:
        what = f"1 if there are fewer than {limit} linkages, else 0"
        yield Measure(
            f"linkages_below_{limit}", what, _BINARY, "0 or 1", partial(_at_most_linkages, limit=limit)
        )


_COST: Final = "cost of the best linkage's disjuncts"
_LENGTH: Final = "length of the best linkage's links in all"
_MOST: Final = "linkages with the fewest unused words"
MEASURES: Final[Sequence[Measure[Linkage]]] = (
    Measure("linkages", _MOST, _DCU, "linkages", lambda k: k.linkages),
    Measure(
        "linkages_log10", f"{_MOST}, decimal logarithm", _OWN, "log10", lambda k: float(np.log10(k.linkages))
    ),
    Measure("complete", "1 if a linkage takes in every word, else 0", _DCU, "0 or 1", _complete),
    Measure(
        "unused", "words and walls in none of the best linkage's links", _OWN, "words", lambda k: k.unused
    ),
    Measure("cost", _COST, _OWN, "cost", _cost),
    Measure("cost_by_word", f"{_COST}, by word", _OWN, "cost", partial(_by_word, measure=_cost)),
    Measure("length", _LENGTH, _OWN, "words", _length),
    Measure("length_by_word", f"{_LENGTH}, by word", _OWN, "words", partial(_by_word, measure=_length)),
)
GIVEN_UP: Final = Measure("given_up", "1 if the program gave the text up, else 0", _OWN, "0 or 1", _timed_out)


@dataclass(frozen=True)
class LinkGrammar(AnnotationFamily):
    """Number of linkages; unused words, cost and length of the best one, from `annotators/en+link-grammar`.

    sides     annotated sides; the program parses English
    below     limits: one column each, whether there are fewer linkages
    timed_out  whether texts without numbers are accepted as timeouts: all columns are NaN except one that
              marks them; otherwise they are an error, because such texts look unparsed

    Linkages are those with the fewest unused words; the program counts them up to 2147483647. The program's
    walls at the ends of a text can be unused too, so that unused words can outnumber the text's words. All
    values are NaN for a text without words.

    Raises InputError for a text without numbers, or with numbers outside the program's range.
    """

    renamed: ClassVar[Mapping[str, str]] = {"given_up": "timed_out"}
    plain: ClassVar[str] = "how well the sentences of the {text} are formed"

    sides: Sides = "source"
    below: Sequence[Count] = ()
    timed_out: bool = False

    stem = "link_grammar"

    @property
    def columns(self) -> Sequence[Column[Any]]:
        measures = (*MEASURES, *_below(self.below), *((GIVEN_UP,) if self.timed_out else ()))
        return tuple(columns_of(self.stem, measures, self.sides))

    def read(self, annotated: Annotated) -> list[Linkage]:
        return linkages_of(annotated, self.timed_out)
