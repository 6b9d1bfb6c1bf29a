"""Whether a translation reads like machine output: models of machine and human text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count
from features.core.columns import Column, ColumnExtractor, ColumnGroups
from features.core.extractor import Corpus, Extractor, FittedExtractor
from features.core.segments import Segments
from features.learned.translated_lm import TranslatedLanguageModel
from features.resources.language_model import LanguageModel, LMScores
from features.text.tokens import Tokens, ratio, segment_mean, segment_min, segment_sum

_DCU = "DCU-SYMC at WMT12, section 2.1"
_UPC = "UPC at WMT12, section 2.1 (the ratio ref-sys, as a logarithm)"
_OWN = "UPC at WMT12, section 2.1, word by word"


@dataclass(frozen=True)
class Compared:
    tokens: Tokens
    human: LMScores
    machine: LMScores

    def per_event(self, values: FloatArray) -> FloatArray:
        filled = self.tokens.lengths > 0
        return ratio(segment_sum(values, self.human.offsets), np.where(filled, self.tokens.lengths + 1, 0))

    @property
    def advantage(self) -> FloatArray:
        return self.human.token_log10 - self.machine.token_log10


COLUMNS: tuple[Column[Compared], ...] = (
    Column("machine_lm_log10",
        "log10 probability per word and sentence end under a model of machine translations", _DCU,
        "log10 per event", lambda c: c.per_event(c.machine.log10)),
    Column("machine_lm_human_advantage",
        "log10 of the perplexity under machine translations over that under text, both of order `order`",
        _UPC, "log10 per event", lambda c: c.per_event(c.human.log10 - c.machine.log10)),
    Column("machine_lm_lowest_advantage",
        "log10 of how much likelier text makes a token than machine translations do, at its lowest", _OWN,
        "log10", lambda c: segment_min(c.advantage, c.tokens.offsets)),
    Column("machine_lm_machine_like", "share of tokens likelier in machine translations than in text", _OWN,
        "share", lambda c: segment_mean(c.advantage < 0, c.tokens.offsets)),
)  # fmt: skip


@dataclass(frozen=True)
class MachineLanguageModel(ColumnExtractor, FittedExtractor):
    """A language model of machine translations against one of human text.

    The first is learned from the training rows. It is fitted inside each fold, though it needs no label.

    corpus  whose translations: the training rows' (`training`), or those of `translated_corpus`:
           then nothing is learned, models of the same sentences, as our own decoder translates them and as
           people did, are both of order 5, and no difference is one of size
    order  of both models. The model of machine translations is built at it; that of text is the target model
           cut to it. 5, the order of the target model, compares two models as they were built. Below, the cut
           counts against text: what is left of a Kneser-Ney model counts n-grams by how many words they
           follow, not by how often they occur, and finds text less likely than a model built at that order,
           so that the zero of the differences is not where both are equally likely.

    Everything is NaN for an empty translation. Raises InputError if the training translations hold no words,
    or `order` is above the target model's.
    """

    plain: ClassVar[str] = "whether it reads as if a machine had written it"

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"corpus": "translated"},)

    target_lm: LanguageModel
    corpus: Corpus = "training"
    order: Count = 3
    machine: LanguageModel | None = field(default=None, init=False)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _OfTranslatedCorpus if settings.get("corpus") == "translated" else cls

    def column_groups(self) -> ColumnGroups:
        return [(COLUMNS, self._compared)]

    def labels_used(self) -> tuple[str, ...]:
        return ()

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        return self.with_learned(machine=LanguageModel.from_tokens(segments.target_tokens, order=self.order))

    def _compared(self, segments: Segments) -> Compared:
        machine, tokens = self.learned(self.machine), segments.target_tokens
        orders = self.target_lm.score_orders(tokens)
        if len(orders) < self.order:
            raise InputError(f"order {self.order} is above that of target_lm, which gives {len(orders)}")
        return Compared(tokens, orders[self.order - 1], machine.score(tokens))

    def save(self, path: Path) -> None:
        self.learned(self.machine).save(path)

    def restore(self, path: Path) -> Self:
        machine = LanguageModel.load(path)
        machine.check_stored()
        return self.with_learned(machine=machine)


COLUMNS_OF_CORPUS = tuple(
    replace(
        column,
        name=column.name.replace("machine_lm", "machine_lm_translated"),
        description=column.description.replace(", both of order `order`", ""),
    )
    for column in COLUMNS
)


@dataclass(frozen=True)
class _OfTranslatedCorpus(ColumnExtractor):
    machine_text_lm: TranslatedLanguageModel
    human_text_lm: TranslatedLanguageModel
    corpus: Corpus = "translated"

    def column_groups(self) -> ColumnGroups:
        return [(COLUMNS_OF_CORPUS, self._compared)]

    def _compared(self, segments: Segments) -> Compared:
        tokens = segments.target_tokens
        return Compared(tokens, self.human_text_lm.score(tokens), self.machine_text_lm.score(tokens))
