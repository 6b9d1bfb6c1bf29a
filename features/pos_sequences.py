"""How usual the sequences of parts of speech are: language models, n-gram counts, IBM Model 1 of tags."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Final

import numpy as np

from features.core.annotation import Layer, layers
from features.core.errors import InputError
from features.core.extractor import Extractor, Feature, FloatArray
from features.core.segments import Segments
from features.core.tokens import Tokens, ratio, segment_mean, segment_min, segment_sum
from features.resources.language_model import LMScores
from features.resources.lexicon import Lexicon, WordScores
from features.resources.ngrams import QUEST_MINIMUM, NgramCounts
from features.resources.pos_lexicon import PosLexicon, unit_ngrams
from features.resources.pos_lm import PosLanguageModel
from features.resources.pos_ngrams import PosNgrams

COLUMNS: Final = "annotation_source", "annotation_target"
SIDES: Final = "source", "target"
SHARES: Final = 1, 2, 3, 4  # orders of n-grams in frequency quartiles
LEAST: Final = 2, 3, 4, 5, 6, 7  # orders of the least frequent n-gram (DCU, section 3.2)
CUT: Final = 3  # order of WLV's language models of tags

_PLM: Final = "DFKI (Popovic) at WMT12, section 2.2, equation 4"
_P4IBM1: Final = "DFKI (Popovic) at WMT12, section 2.1, equations 2-3"
_WLV: Final = "WLV-SHEF at WMT12, section 3.1 and table 4"
_DCU: Final = "DCU-SYMC at WMT12, section 3.2"
_OWN: Final = "this project: shares of word n-grams (Uppsala at WMT12, section 2.1), here of tags"


@dataclass(frozen=True)
class PosSequences(Extractor):
    """Log-probability and perplexity of the tags, frequency of tag n-grams, IBM Model 1 of tag 4-grams.

    Tags come from the segments' annotations and must be those of the tagger that the corpus was tagged with.
    What needs n-grams is NaN for a text that is too short to have one.

    Raises InputError where an annotation is missing, or does not fit the tokens.
    """

    source_pos_lm: PosLanguageModel
    target_pos_lm: PosLanguageModel
    source_upos_lm: PosLanguageModel
    target_upos_lm: PosLanguageModel
    source_pos_ngrams: PosNgrams
    target_pos_ngrams: PosNgrams
    pos_lexicon_source_to_target: PosLexicon
    pos_lexicon_target_to_source: PosLexicon

    @property
    def features(self) -> Sequence[Feature]:
        return [Feature(name, d.description, d.origin, d.unit) for name, d in DEFINITIONS.items()]

    def requires(self) -> tuple[str, ...]:
        return COLUMNS

    def extract(self, segments: Segments) -> FloatArray:
        tokens = segments.source_tokens, segments.target_tokens
        parts = (getattr(self, f.name) for f in fields(self))
        read: list[Layer] = sorted({part.settings["layer"] for part in parts})
        found = {
            side: dict(zip(read, layers(segments.require(c), t, read, c), strict=True))
            for side, c, t in zip(SIDES, COLUMNS, tokens, strict=True)
        }
        batch = _Batch(self, found)
        return np.column_stack([definition.function(batch) for definition in DEFINITIONS.values()])


@dataclass(frozen=True, eq=False)
class _Batch:
    """The tags of a batch by side and layer, and what the resources say of them."""

    resources: PosSequences
    tags: Mapping[str, Mapping[Layer, Tokens]]
    made: dict[tuple[str, Layer, int], Tokens] = field(default_factory=dict)

    @cached_property
    def models(self) -> Mapping[str, tuple[Tokens, tuple[LMScores, ...]]]:
        """Part -> the tags it reads, and its scores cut to every order."""
        found = {}
        for part in [f.name for f in fields(self.resources) if f.name.endswith("_lm")]:
            model: PosLanguageModel = getattr(self.resources, part)
            tags = self.tags[model.settings["side"]][model.settings["layer"]]
            found[part] = tags, model.score_orders(tags)
        return found

    def counter(self, side: str) -> NgramCounts:
        return self.resources.source_pos_ngrams if side == "source" else self.resources.target_pos_ngrams

    @cached_property
    def counts(self) -> Mapping[str, list[tuple[np.ndarray, np.ndarray]]]:
        """Side -> per order the corpus counts of the n-grams of each text, and the texts' offsets."""
        orders = max(*SHARES, *LEAST)
        return {s: self.counter(s).counts_by_order(self._counted(s), orders) for s in SIDES}

    def _counted(self, side: str) -> Tokens:
        return self.tags[side][self.counter(side).settings["layer"]]

    @cached_property
    def lexical(self) -> Mapping[str, WordScores]:
        """Side -> what the n-grams of the other side say of its own."""
        r = self.resources
        lexicons: dict[str, Lexicon] = {
            "target": r.pos_lexicon_source_to_target,
            "source": r.pos_lexicon_target_to_source,
        }
        found = {}
        for side, lexicon in lexicons.items():
            layer, order = lexicon.settings["layer"], lexicon.settings["order"]
            units = {s: self._units(s, layer, order) for s in SIDES}
            other = "source" if side == "target" else "target"
            found[side] = lexicon.score(units[other], units[side])
        return found

    def _units(self, side: str, layer: Layer, order: int) -> Tokens:
        """N-grams of tags, made once for both directions."""
        if (side, layer, order) not in self.made:
            self.made[side, layer, order] = unit_ngrams(self.tags[side][layer], order)
        return self.made[side, layer, order]


@dataclass(frozen=True)
class Definition:
    """What a column says, where it is from, and how it is computed."""

    description: str
    origin: str
    unit: str
    function: Callable[[_Batch], FloatArray]


def _log10(batch: _Batch, part: str, order: int) -> FloatArray:
    """NaN for an empty text."""
    tags, orders = batch.models[part]
    if len(orders) < CUT:
        raise InputError(f"{part} must be of order {CUT} or more, but it is of order {len(orders)}")
    scores = orders[(order or len(orders)) - 1]
    return np.where(tags.lengths > 0, segment_sum(scores.log10, scores.offsets), np.nan)


def _per_token(batch: _Batch, part: str, order: int) -> FloatArray:
    return ratio(_log10(batch, part, order), batch.models[part][0].lengths)


def _perplexity(batch: _Batch, part: str, order: int) -> FloatArray:
    return np.asarray(10 ** -ratio(_log10(batch, part, order), batch.models[part][0].lengths + 1), np.float64)


def _quartile(batch: _Batch, side: str, order: int, quartile: int) -> FloatArray:
    counts, offsets = batch.counts[side][order - 1]
    counter = batch.counter(side)
    if not counter.has_types(order, QUEST_MINIMUM):
        return np.full(len(offsets) - 1, np.nan)
    bounds = (0, *counter.quartile_cutoffs(order, QUEST_MINIMUM), np.inf)
    return segment_mean((counts > bounds[quartile - 1]) & (counts <= bounds[quartile]), offsets)


def _unseen(batch: _Batch, side: str, order: int) -> FloatArray:
    counts, offsets = batch.counts[side][order - 1]
    return segment_mean(counts == 0, offsets)


def _least(batch: _Batch, side: str, order: int) -> FloatArray:
    counts, offsets = batch.counts[side][order - 1]
    return segment_min(counts, offsets)


def _ibm1(batch: _Batch, side: str) -> FloatArray:
    scores = batch.lexical[side]
    other = batch.lexical["source" if side == "target" else "target"]
    defined = (np.diff(scores.offsets) > 0) & (np.diff(other.offsets) > 0)
    return np.where(defined, scores.log10(), np.nan)


def _ibm1_per_unit(batch: _Batch, side: str) -> FloatArray:
    return ratio(_ibm1(batch, side), np.diff(batch.lexical[side].offsets))


def _of_models() -> Iterator[tuple[str, Definition]]:
    statistics = (
        ("log10", "log10 probability, end included", "log10", _log10),
        ("per_token", "log10 probability, end included, per token", "log10 per token", _per_token),
        ("perplexity", "perplexity, end included", "choices", _perplexity),
    )
    for side in SIDES:
        for name, kind in (("pos", "detailed tags"), ("upos", "universal parts of speech")):
            for order, suffix, model in ((0, "", "6-gram"), (CUT, f"_{CUT}", f"{CUT}-gram")):
                for statistic, description, unit, function in statistics:
                    yield (
                        f"{name}_lm_{side}_{statistic}{suffix}",
                        Definition(
                            f"{side}, {model} model of {kind}: {description}; NaN for an empty text",
                            _WLV if order or name == "upos" else _PLM,
                            unit,
                            partial(function, part=f"{side}_{name}_lm", order=order),
                        ),
                    )


def _of_counts() -> Iterator[tuple[str, Definition]]:
    for side in SIDES:
        for order in SHARES:
            for quartile in (1, 2, 3, 4):
                yield (
                    f"pos_ngrams_{side}_quartile{quartile}_{order}",
                    Definition(
                        f"{side}: share of tag {order}-grams in frequency quartile {quartile} (1: rarest) of "
                        f"the corpus; cut-offs from types seen {QUEST_MINIMUM} times; NaN if there is none",
                        _OWN,
                        "share",
                        partial(_quartile, side=side, order=order, quartile=quartile),
                    ),
                )
            yield (
                f"pos_ngrams_{side}_unseen_{order}",
                Definition(
                    f"{side}: share of tag {order}-grams that the corpus lacks",
                    _OWN,
                    "share",
                    partial(_unseen, side=side, order=order),
                ),
            )
        for order in LEAST:
            yield (
                f"pos_ngrams_{side}_least_{order}",
                Definition(
                    f"{side}: corpus count of the least frequent tag {order}-gram",
                    _DCU,
                    "occurrences",
                    partial(_least, side=side, order=order),
                ),
            )


def _of_lexicons() -> Iterator[tuple[str, Definition]]:
    for side, other in (SIDES, SIDES[::-1]):
        what = f"log10 p({side} tag 4-grams | {other} tag 4-grams), IBM Model 1"
        short = "NaN where a side has fewer than 4 tokens"
        yield (
            f"pos_ibm1_{side}_log10",
            Definition(f"{what}; {short}", _P4IBM1, "log10", partial(_ibm1, side=side)),
        )
        yield (
            f"pos_ibm1_{side}_per_ngram",
            Definition(
                f"{what}, divided by the number of {side} 4-grams; {short}",
                _P4IBM1,
                "log10 per 4-gram",
                partial(_ibm1_per_unit, side=side),
            ),
        )


DEFINITIONS: Final[Mapping[str, Definition]] = dict([*_of_models(), *_of_counts(), *_of_lexicons()])
