"""Sequences of tags: n-grams of parts of speech, language models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count
from features.core.columns import Column
from features.core.extractor import Corpus, Extractor, Feature, FittedExtractor
from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel, LMScores
from features.resources.lexicon import Lexicon, WordScores
from features.resources.ngrams import QUEST_MINIMUM, NgramCounts
from features.resources.word_lexicon import StopWords
from features.text.annotation import Layer, layer_tokens, layers
from features.text.ngram_tables import unit_ngrams
from features.text.tokens import Tokens, segment_mean, segment_min
from qe_papers.families import (
    ANNOTATIONS,
    SIDES,
    ColumnFamily,
    Modelled,
    model_columns,
    save_parts,
    translated_columns,
)
from qe_papers.learned.sequence_models import (
    SEQUENCES,
    Models,
    SequenceModels,
    aligned_tags,
    load_models,
    perplexities,
    perplexity_features,
    sequences,
)

SHARES: Final = 1, 2, 3, 4  # orders of n-grams in frequency quartiles
LEAST: Final = 2, 3, 4, 5, 6, 7  # orders of the least frequent n-gram (DCU, section 3.2)
CUT: Final = 3  # order of WLV's tag language models

_PLM: Final = "DFKI (Popovic) at WMT12, section 2.2, equation 4"
_P4IBM1: Final = "DFKI (Popovic) at WMT12, section 2.1, equations 2-3"
_WLV: Final = "WLV-SHEF at WMT12, section 3.1 and table 4"
_DCU: Final = "DCU-SYMC at WMT12, section 3.2"
_OWN: Final = "this project: shares of word n-grams (Uppsala at WMT12, section 2.1), here of tags"


@dataclass(frozen=True)
class PosSequences(ColumnFamily):
    """Log-probability, perplexity and n-gram frequency of tags, IBM Model 1 of tag 4-grams.

    Tags come from the segments' annotations and must be those of the corpus's tagger. N-gram columns are NaN
    for a text shorter than n.

    below  limits: one column each, whether the least frequent tag n-gram has a lower corpus frequency. DCU's
           paper prints one, 10, and chose others by decision trees.

    Raises InputError if an annotation is missing or does not match the tokens, and for parts of words.
    """

    plain: ClassVar[str] = "how usual the order of nouns, verbs and other words in the {text} is"

    source_pos_lm: LanguageModel
    target_pos_lm: LanguageModel
    source_upos_lm: LanguageModel
    target_upos_lm: LanguageModel
    source_pos_ngrams: NgramCounts
    target_pos_ngrams: NgramCounts
    pos_lexicon_source_to_target: Lexicon
    pos_lexicon_target_to_source: Lexicon
    below: Sequence[Count] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for entry in fields(self):
            if entry.name != "below" and "layer" not in getattr(self, entry.name).settings:
                raise InputError(
                    f"'{entry.name}' must be a part of tags, but is one of words",
                    location="extractor 'pos_sequences'",
                    remedy="name a part that is built from an annotation",
                )

    @property
    def columns(self) -> tuple[Column["_Batch"], ...]:
        return (*COLUMNS, *_below(self.below))

    def requires(self) -> tuple[str, ...]:
        return ANNOTATIONS

    def prepared(self, segments: Segments) -> "_Batch":
        texts = zip(SIDES, ANNOTATIONS, (segments.source_tokens, segments.target_tokens), strict=True)
        parts = (getattr(self, f.name) for f in fields(self) if f.name != "below")
        read: list[Layer] = sorted({part.settings["layer"] for part in parts})
        blocks: dict[str, dict[Layer, Tokens]] = {
            side: dict(zip(read, layers(segments.require(c), tokens, read, c), strict=True))
            for side, c, tokens in texts
        }
        return _Batch(self, blocks)


@dataclass(frozen=True, eq=False)
class _Batch:
    resources: PosSequences
    tags: Mapping[str, Mapping[Layer, Tokens]]

    @cached_property
    def models(self) -> Mapping[str, tuple[Tokens, tuple[LMScores, ...]]]:
        values = {}
        for part in [f.name for f in fields(self.resources) if f.name.endswith("_lm")]:
            model: LanguageModel = getattr(self.resources, part)
            tags = self.tags[model.settings["side"]][model.settings["layer"]]
            values[part] = tags, model.score_orders(tags)
        return values

    def counter(self, side: str) -> NgramCounts:
        return self.resources.source_pos_ngrams if side == "source" else self.resources.target_pos_ngrams

    @cached_property
    def counts(self) -> Mapping[str, list[tuple[np.ndarray, np.ndarray]]]:
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for side in SIDES:
            counter = self.counter(side)
            tags = self.tags[side][counter.settings["layer"]]
            found[side] = counter.counts_by_order(tags, max(*SHARES, *LEAST))
        return found

    @cached_property
    def lexical(self) -> Mapping[str, WordScores]:
        r = self.resources
        lexicons = {"target": r.pos_lexicon_source_to_target, "source": r.pos_lexicon_target_to_source}
        units = cache(lambda side, layer, order: unit_ngrams(self.tags[side][layer], order))
        values = {}
        for side, lexicon in lexicons.items():
            key = lexicon.settings["layer"], lexicon.settings["ngrams"]
            opposite = "source" if side == "target" else "target"
            values[side] = lexicon.score(units(opposite, *key), units(side, *key))
        return values


def _modelled(batch: _Batch, part: str, order: int) -> Modelled:
    tags, orders = batch.models[part]
    if len(orders) < CUT:
        raise InputError(f"{part} must be of order {CUT} or more, but it is of order {len(orders)}")
    return Modelled(tags, orders[(order or len(orders)) - 1])


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


def _rarest(batch: _Batch, side: str, order: int, limit: int | None = None) -> FloatArray:
    least = segment_min(*batch.counts[side][order - 1])
    return least if limit is None else np.where(np.isnan(least), np.nan, least < limit)


def _of_models() -> Iterator[Column[_Batch]]:
    for side, (name, kind) in product(
        SIDES, (("pos", "detailed tags"), ("upos", "universal parts of speech"))
    ):
        for order, suffix, model in ((0, "", "6-gram"), (CUT, f"_{CUT}", f"{CUT}-gram")):
            origin, what = _WLV if order or name == "upos" else _PLM, f"{side}, {model} model of {kind}"
            modelled = partial(_modelled, part=f"{side}_{name}_lm", order=order)
            yield from model_columns("token", origin, f"{name}_lm_{side}", what, modelled, suffix)


def _of_counts() -> Iterator[Column[_Batch]]:
    for side in SIDES:
        stem = f"pos_ngrams_{side}"
        for order in SHARES:
            what = f"{side}: share of tag {order}-grams"
            for quartile in (1, 2, 3, 4):
                text = (
                    f"{what} in frequency quartile {quartile} (1: rarest) of the corpus; cut-offs from types"
                )
                text = f"{text} seen {QUEST_MINIMUM} times; NaN if there is none"
                share = partial(_quartile, side=side, order=order, quartile=quartile)
                yield Column(f"{stem}_quartile{quartile}_{order}", text, _OWN, "share", share)
            unseen = partial(_unseen, side=side, order=order)
            yield Column(f"{stem}_unseen_{order}", f"{what} that the corpus lacks", _OWN, "share", unseen)
        for order in LEAST:
            text = f"{side}: corpus count of the least frequent tag {order}-gram"
            rarest = partial(_rarest, side=side, order=order)
            yield Column(f"{stem}_least_{order}", text, _DCU, "occurrences", rarest)


def _below(limits: Sequence[int]) -> Iterator[Column[_Batch]]:
    for side, order, limit in product(SIDES, LEAST, limits):
        stem, what = f"pos_ngrams_{side}_least_{order}", f"the least frequent tag {order}-gram"
        text = f"{side}: 1 if the corpus has {what} fewer than {limit} times, else 0"
        rare = partial(_rarest, side=side, order=order, limit=limit)
        yield Column(f"{stem}_below_{limit}", text, f"{_DCU}, footnote 5", "0 or 1", rare)


COLUMNS: Final = (
    *_of_models(),
    *_of_counts(),
    *translated_columns(
        "pos_ibm1", "ngram", "tag 4-grams", _P4IBM1, "NaN if a side has fewer than 4 tokens",
        lambda batch, side: batch.lexical[side],
    ),
)  # fmt: skip


@dataclass(frozen=True)
class _OfSequences(Extractor):
    target_stop_words: StopWords
    aligner: Aligner

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source",)

    def _sequences(self, segments: Segments, tokens: Tokens) -> dict[str, Tokens]:
        source, column = segments.source_tokens, "annotation_source"
        tags = layer_tokens(segments.require(column), source, "xpos", column)
        aligned = aligned_tags(tags, self.aligner.align(source, tokens), tokens)
        stop = frozenset(self.target_stop_words.words)
        return sequences(tokens, segments.target_tokenizer.language, aligned, stop)


@dataclass(frozen=True)
class SequenceLanguageModels(_OfSequences, FittedExtractor):
    """Perplexity under a model of the system's translations, and ratio to that of references.

    Both models are trained on the same rows: the translations, and the label `reference`.

    corpus  source of the translations: the training rows (`training`), or `translated_corpus`, in which case
            nothing is fitted and our own decoder's translations replace those of the evaluated system
    order   order of the models

    Stop words are the part `target_stop_words`; stems are Snowball's, tags come from the source's annotation.
    A perplexity is NaN for an empty sequence, for example chains if no two stop words are adjacent. Raises
    InputError if a sequence is empty in all training rows.
    """

    plain: ClassVar[str] = "whether it reads as if a machine had written it"

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"corpus": "translated"},)

    corpus: Corpus = "training"
    order: Count = 3
    models: Models | None = field(default=None, init=False, repr=False)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _OfTranslatedCorpus if settings.get("corpus") == "translated" else cls

    @property
    def features(self) -> Sequence[Feature]:
        return perplexity_features("sequence")

    def labels_used(self) -> tuple[str, ...]:
        return ("reference",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        references = segments.target_tokenizer.tokens([str(text) for text in labels["reference"]])
        models = {}
        for kind, tokens in (("sys", segments.target_tokens), ("ref", references)):
            for name, texts in self._sequences(segments, tokens).items():
                if not texts.lengths.any():  # chains can be absent from few rows
                    raise InputError(
                        f"no training row has {SEQUENCES[name]}",
                        location="extractor 'sequence_lm'",
                        remedy="train on more segments, or with more stop words",
                    )
                models[f"{name}_{kind}"] = LanguageModel.from_tokens(texts, order=self.order)
        return self.with_learned(models=models)

    def extract(self, segments: Segments) -> FloatArray:
        models = self.learned(self.models)
        return perplexities(self._sequences(segments, segments.target_tokens), models)

    def save(self, path: Path) -> None:
        save_parts(path, self.learned(self.models))

    def restore(self, path: Path) -> Self:
        return self.with_learned(models=load_models(path))


@dataclass(frozen=True)
class _OfTranslatedCorpus(_OfSequences):
    sequence_models: SequenceModels
    corpus: Corpus = "translated"

    @property
    def features(self) -> Sequence[Feature]:
        return perplexity_features("sequence_translated")

    def extract(self, segments: Segments) -> FloatArray:
        return perplexities(self._sequences(segments, segments.target_tokens), self.sequence_models.models)
