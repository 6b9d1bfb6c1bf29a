"""Link grammar of a text: number of linkages, completeness, cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def _by_word(value: float, linkage: Linkage) -> float:
    return value / linkage.words if linkage.words else np.nan


def _flag(value: float, answer: bool) -> float:
    return np.nan if np.isnan(value) else float(answer)


def _below(limit: int) -> Measure[Linkage]:
    what = f"1 if there are fewer than {limit} linkages, else 0"
    return Measure(
        f"linkages_below_{limit}", what, _BINARY, "0 or 1", lambda k: _flag(k.linkages, k.linkages < limit)
    )


_COST: Final = "cost of the best linkage's disjuncts"
_LENGTH: Final = "length of the best linkage's links in all"
_MOST: Final = "linkages with the fewest unused words"
_UNUSED: Final = "words and walls in none of the best linkage's links"
MEASURES: Final[Sequence[Measure[Linkage]]] = (
    Measure("linkages", _MOST, _DCU, "linkages", lambda k: k.linkages),
    Measure("linkages_log10", f"{_MOST}, decimal logarithm", _OWN, "log10",
            lambda k: float(np.log10(k.linkages))),
    Measure("complete", "1 if a linkage takes in every word, else 0", _DCU, "0 or 1",
            lambda k: _flag(k.unused, k.unused == 0)),
    Measure("unused", _UNUSED, _OWN, "words", lambda k: k.unused),
    Measure("cost", _COST, _OWN, "cost", lambda k: k.cost),
    Measure("cost_by_word", f"{_COST}, by word", _OWN, "cost", lambda k: _by_word(k.cost, k)),
    Measure("length", _LENGTH, _OWN, "words", lambda k: k.length),
    Measure("length_by_word", f"{_LENGTH}, by word", _OWN, "words", lambda k: _by_word(k.length, k)),
)  # fmt: skip
GIVEN_UP: Final[Measure[Linkage]] = Measure(
    "given_up", "1 if the program gave the text up, else 0", _OWN, "0 or 1",
    lambda k: float(np.isnan(k.linkages)) if k.words else np.nan,
)  # fmt: skip


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
        measures = (*MEASURES, *map(_below, self.below), *((GIVEN_UP,) if self.timed_out else ()))
        return [column for one in measures for column in columns_of(self.stem, one, self.sides)]

    def read(self, annotated: Annotated) -> list[Linkage]:
        table = np.column_stack([annotated.values(f"link_grammar_{name}") for name in FIGURES])
        lengths, result = annotated.tokens.lengths.tolist(), list[Linkage]()
        for number, (figures, text, words) in enumerate(
            zip(table.tolist(), annotated.blocks, lengths, strict=True), start=1
        ):
            location, (linkages, unused, cost, length) = f"{annotated.location}, segment {number}", figures
            sound = np.isfinite(figures).all() and linkages >= 1 and unused >= 0 and length >= 0
            asked = "# link_grammar_" in text
            if asked and not sound:
                pairs = zip(FIGURES, figures, strict=True)
                raise InputError(
                    "linkages must be 1 or more, unused words and length from 0, cost a number, but got "
                    + ", ".join(f"{name} = {value:g}" for name, value in pairs),
                    location=location,
                    remedy="give all of `# link_grammar_linkages = 12`, ..._unused, ..._cost, ..._length, "
                    "or none",
                )
            if not asked and words and not self.timed_out:
                raise InputError(
                    "link grammar says nothing of the text: it was not asked, or gave up",
                    location=location,
                    remedy="annotate with `+link-grammar` after the annotator's name; texts that it gave up "
                    "on are undefined with `timed_out: true`",
                )
            result.append(Linkage(linkages, unused, cost, length, words))
        return result
