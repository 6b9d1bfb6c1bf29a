"""NgramCounts: how often every n-gram occurs in one side of the corpus."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, offsets_of
from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, reported, silent
from features.core.bundle import RESOURCES
from features.core.resource import Builder, Parts, Resource
from features.resources.lexicon import Lexicon
from features.resources.morphemes import SideBuilder
from features.storage.compact import Stored, check, counted, gather, unpacked
from features.storage.damage import within
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import Case, Offsets, Trie, cased, encode, ngram_tables
from features.text.tokens import UNK, Tokens, Vocabulary, segment_mean

# QuEst drops n-grams that occur once or twice before it computes cut-offs (its `.ngram.clean` files).
QUEST_MINIMUM = 3


def quartiles(counts: NDArray[np.integer[Any]]) -> tuple[int, int, int]:
    """The cut-offs `sorted[floor(j (size - 1) / 4)]` of quarters; raises InputError without counts."""
    size = len(counts)
    if size == 0:
        raise InputError("quartiles need counts, but no n-gram of the corpus is frequent enough")
    values_at = [j * (size - 1) // 4 for j in (1, 2, 3)]
    parted = np.partition(counts, values_at)
    return int(parted[values_at[0]]), int(parted[values_at[1]]), int(parted[values_at[2]])


@dataclass(frozen=True, kw_only=True)
class NgramCountsBuilder(SideBuilder):
    """From one side of a parallel corpus; the settings are those of `NgramCounts.from_tokens`."""

    order: Count
    case: Case = "lower"

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "NgramCounts":
        text, print_ = self.text(corpus), corpus.fingerprint
        counts = NgramCounts.from_tokens(
            text, order=self.order, case=self.case, progress=progress, fingerprint=print_
        )
        return counts.with_settings(side=self.side, **self.units(text))


@RESOURCES.register("ngrams")
@dataclass(frozen=True, eq=False)
class NgramCounts(Resource):
    """Occurrences of all n-grams to the order built. N-grams stay within a sentence, without markers.
    `source_pos_ngrams` and `target_pos_ngrams` are of detailed tags (`xpos`), to DCU's order (Rubino et al.
    2012, section 3.2).
    """

    parts: ClassVar[Parts] = {
        "source_ngrams": {"side": "source", "order": 3},
        "target_ngrams": {"side": "target", "order": 3},
        "source_ngrams5": {"side": "source", "order": 5},
        "target_ngrams5": {"side": "target", "order": 5},
        **{
            f"{side}_pos_ngrams": {
                "side": side,
                "order": 7,
                "case": "true",
                "layer": "xpos",
                "annotation": f"{side}_annotation",
            }
            for side in ("source", "target")
        },
    }
    builder: ClassVar[type[Builder]] = NgramCountsBuilder
    version: ClassVar[int] = 2
    older: ClassVar[frozenset[int]] = frozenset({1})  # plain arrays

    vocabulary: Vocabulary = field(repr=False)
    trie: Trie = field(repr=False)
    occurrences: Stored = field(repr=False)
    _cutoffs: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_tokens(
        cls,
        tokens: Tokens,
        *,
        order: int,
        case: Case = "lower",
        progress: Progress = silent,
        fingerprint: str | None = None,
    ) -> Self:
        """From any text; raises InputError for an order below 1 or an unknown case (`lower` or `true`)."""
        text = cased(tokens, case)
        vocabulary, ids = encode(text)
        counting = ngram_tables(ids, np.asarray(text.offsets), len(vocabulary), order)
        tables = list(reported(counting, progress, "counting n-grams", order))
        trie = Trie.from_levels([(table.words, table.first) for table in tables])
        settings = {"order": order, "case": case, "ngrams": list(trie.sizes)}
        occurrences = np.concatenate([table.counts for table in tables])
        return cls(
            vocabulary,
            trie.compact(),
            counted(occurrences),
            settings=settings,
            corpus_fingerprint=fingerprint or tokens.fingerprint,
        )

    @property
    def order(self) -> int:
        return self.trie.order

    def counts(self, tokens: Tokens, order: int) -> tuple[NDArray[np.int64], Offsets]:
        """Corpus counts of each text's n-grams, and offsets; raises InputError for an uncounted order."""
        self._check(order)
        nodes, offsets = self._known_ids(tokens), np.asarray(tokens.offsets)
        return self._counts(self.trie.ending(nodes, offsets, order), offsets, order)

    def counts_by_order(self, tokens: Tokens, order: int) -> list[tuple[NDArray[np.int64], Offsets]]:
        """`counts` of the orders 1 to `order`: at the price of the highest."""
        self._check(order)
        nodes = ids = self._known_ids(tokens)
        offsets = np.asarray(tokens.offsets)
        counts = [self._counts(nodes, offsets, 1)]
        for n in range(2, order + 1):
            nodes = self.trie.extend(nodes, ids, offsets)
            counts.append(self._counts(nodes, offsets, n))
        return counts

    def _known_ids(self, tokens: Tokens) -> NDArray[np.int32]:
        ids = cased(tokens, self.settings["case"]).ids_in(self.vocabulary)
        return np.where(ids == UNK, np.int32(-1), ids)

    def _counts(
        self, nodes: NDArray[np.int32], offsets: Offsets, order: int
    ) -> tuple[NDArray[np.int64], Offsets]:
        position = np.asarray(np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets)), np.int64)
        there = position >= order - 1
        counts = np.where(nodes >= 0, gather(self.occurrences, nodes), 0).astype(np.int64)
        n_ngrams = np.maximum(np.diff(offsets) - order + 1, 0)
        return counts[there], offsets_of(n_ngrams)

    def types(self, order: int) -> NDArray[np.int32]:
        """Counts (distinct n-grams,); raises InputError for an order that was not counted."""
        self._check(order)
        nodes = self.trie.nodes(order)
        counts: NDArray[np.int32] = unpacked(self.occurrences, nodes.start, nodes.stop)
        return counts[counts > 0] if order == 1 else counts  # order 1 lists the markers too

    def quartile_cutoffs(self, order: int, minimum: int = QUEST_MINIMUM) -> tuple[int, int, int]:
        """Cut-offs between quarters of the counts of n-gram types seen `minimum` times (default: QuEst's)."""
        if (order, minimum) not in self._cutoffs:
            counts = self.types(order)
            self._cutoffs[order, minimum] = quartiles(counts[counts >= minimum])
        return self._cutoffs[order, minimum]

    def has_types(self, order: int, minimum: int) -> bool:
        return (order, minimum) in self._cutoffs or bool((self.types(order) >= minimum).any())

    def total(self, order: int) -> int:
        return int(self.types(order).sum(dtype=np.int64))

    def _check(self, order: int) -> None:
        if not 1 <= order <= self.order:
            raise InputError(
                f"n-grams of order {order} were not counted",
                remedy=f"orders 1 to {self.order} were; build the part with --set PART.order={order} (in an "
                f"experiment, `resources: {{settings: {{PART: {{order: {order}}}}}}}`)",
            )

    def check_arrays(self) -> None:
        self.trie.check_arrays(len(self.vocabulary))
        check("occurrences", self.occurrences, np.int32, self.trie.begins[-1])
        within("occurrences", unpacked(self.occurrences), 0, 2**31)


SAMPLE = 20_000


@dataclass(frozen=True, kw_only=True)
class QuartileNgramsBuilder(Builder):
    """Ranks the sample and counts the n-grams of one quarter of it, on one side."""

    side: Side
    quarter: Literal["best", "worst"]
    order: Count
    lexicon_source_to_target: Lexicon
    case: Case = "lower"
    sample: Count = SAMPLE

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "QuartileNgrams":
        rows = corpus.spread(self.sample)
        pairs = corpus.take(rows)
        ranking = np.argsort(-literalness(pairs, self.lexicon_source_to_target), kind="stable")
        size = -(-len(rows) // 4)
        chosen: NDArray[np.int64] = np.sort(ranking[:size] if self.quarter == "best" else ranking[-size:])
        counts = QuartileNgrams.from_tokens(
            pairs.side(self.side).take(chosen),
            order=self.order,
            case=self.case,
            progress=progress,
            fingerprint=corpus.fingerprint,
        )
        return counts.with_settings(
            side=self.side,
            quarter=self.quarter,
            sample=self.sample,
            lexicon=self.lexicon_source_to_target.fingerprint,
        )


@RESOURCES.register("quartile_ngrams")
class QuartileNgrams(NgramCounts):
    """N-gram counts of a quarter of `sample` pairs spread evenly over the corpus. SDL Language Weaver (WMT12,
    LF6-LF9) takes the quarters of a development set by the BLEU of their translation system. Without a
    system, pairs are ranked by how literally they translate: the mean over target words of log10 max t(target
    word | source word), IBM Model 1. Equal pairs keep their order.
    """

    parts: ClassVar[Parts] = {
        f"{side}_{quarter}_quartile": {"side": side, "quarter": quarter, "order": 4}
        for side in ("source", "target")
        for quarter in ("best", "worst")
    }
    builder = QuartileNgramsBuilder


def literalness(pairs: ParallelCorpus, lexicon: Lexicon) -> FloatArray:
    scores = lexicon.score(pairs.source, pairs.target)
    return segment_mean(np.log10(scores.maximum), scores.offsets)
