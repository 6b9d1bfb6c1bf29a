"""Coarse-to-fine chart parser from treebank counts, with a plain grammar as fallback."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.text.tokens import Tokens
from qe_treebanks.annotators._brackets import Node
from qe_treebanks.annotators._cky import (
    NEVER,
    Emissions,
    Floats,
    best_derivation,
    inside,
    k_best,
    outside,
    span,
)
from qe_treebanks.annotators._grammar import Counts, Grammar, grammar_of, kind_name, plain_name, tree_of
from qe_treebanks.annotators._guide import Guide, Limits
from qe_treebanks.annotators._lexicon import Lexicon
from qe_treebanks.annotators._pruning import Grouped, by_kind, grouped, in_full, possible, restricted
from qe_treebanks.hashed_features import Hashes

COARSE_BEAM: Final = 8.0  # in nats below the best of a span, like the other beams
FINE_BEAM: Final = 7.0
THRESHOLD: Final = 6.0  # maximum distance of the best coarse tree through a span's symbol from the best tree
SPREAD: Final = 15.0  # maximum distance of n-best trees from the best
LONGEST: Final = 250  # maximum words of a text with a tree


@dataclass(frozen=True)
class Parse:
    """Trees of a text, best first, with natural log-probabilities; grammar `fine`, `plain` or `none`."""

    trees: tuple[Node, ...]
    log_probabilities: tuple[float, ...]
    grammar: str


@dataclass(frozen=True, eq=False)
class Level:
    grammar: Grammar
    lexicon: Lexicon
    _by_key: dict[tuple[str, ...], tuple[NDArray[np.int32], NDArray[np.float32]]] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def build(cls, counts: Counts) -> "Level":
        return cls(grammar_of(counts), Lexicon(counts.words))

    def emissions(self, words: Sequence[str]) -> Emissions:
        of_words = [self._of_word(word) for word in words]
        starts = np.cumsum([0, *(len(tags) for tags, _ in of_words)]).astype(np.int64)
        tags, scores = (np.concatenate(parts) for parts in zip(*of_words, strict=True))
        return Emissions(starts, tags, scores)

    def _of_word(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        key = self.lexicon.key(word)
        if key not in self._by_key:
            tags = self.lexicon.tags(word)
            places = np.array([self.grammar.index[symbol] for symbol, _ in tags], np.int32)
            self._by_key[key] = places, np.array([score for _, score in tags], np.float32)
        return self._by_key[key]


@dataclass(frozen=True, eq=False)
class ChartParser:
    """Best trees under the grammar of `counts`.

    A coarse grammar (labels up to a dot, tags by their first two letters) limits the symbols of each span for
    the fine one (Charniak et al. 2006). If a guide allows some tree, its limits apply first.
    """

    counts: Counts
    guide: Guide | None = None

    @cached_property
    def fine(self) -> Level:
        return self._by_kind(Level.build(self.counts))

    @cached_property
    def plain(self) -> Level:
        return self._by_kind(Level.build(self.counts.renamed(plain_name)))

    @cached_property
    def coarse(self) -> Level:
        return Level.build(self.counts.renamed(kind_name))

    @cached_property
    def _groups(self) -> Grouped:
        return grouped(self.coarse.grammar.rules)

    @cached_property
    def _kinds(self) -> NDArray[np.int32]:
        return self._kinds_of(self.fine)

    @cached_property
    def _plain_kinds(self) -> NDArray[np.int32]:
        return self._kinds_of(self.plain)

    def _by_kind(self, level: Level) -> Level:
        rules = by_kind(level.grammar.rules, self._kinds_of(level))
        return replace(level, grammar=replace(level.grammar, rules=rules))

    def _kinds_of(self, level: Level) -> NDArray[np.int32]:
        index = self.coarse.grammar.index
        return np.array([index[kind_name(symbol)] for symbol in level.grammar.symbols], np.int32)

    def parse_all(self, texts: Tokens, n_best: int = 1, hashes: Hashes | None = None) -> Iterator[Parse]:
        """The best trees of every text, at most `n_best`, within the guide's limits if there is one."""
        limits = repeat(None) if self.guide is None else self.guide.limits(texts, hashes)
        for i, of_text in zip(range(len(texts)), limits, strict=False):
            yield self.parse(texts.words(i), n_best, of_text)

    def parse(self, words: Sequence[str], n_best: int = 1, limits: Limits | None = None) -> Parse:
        """The best trees of a text within the limits, which are ignored if no tree satisfies them."""
        if not 0 < len(words) <= LONGEST:
            return Parse((), (), "none")
        if limits is not None:
            found = self._pruned(words, n_best, self._marked(limits), limits.ends)
            if found is not None:
                return found
        anywhere = np.ones(len(words), np.bool_)
        found = self._pruned(words, n_best, None, anywhere)
        if found is not None:
            return found
        searched = exhaustive(self.plain, words, n_best)
        return Parse(*searched, "plain") if searched else Parse((), (), "none")

    def _marked(self, limits: Limits) -> NDArray[np.bool_]:
        marked = np.zeros((len(limits.kinds), len(self.coarse.grammar.symbols)), np.bool_)
        marked[:, self._tag_kinds] = limits.kinds
        return marked

    @cached_property
    def _tag_kinds(self) -> NDArray[np.int64]:
        assert self.guide is not None
        return np.array([self.coarse.grammar.index[kind] for kind in self.guide.kinds], np.int64)

    def _pruned(
        self, words: Sequence[str], n_best: int, tags: NDArray[np.bool_] | None, ends: NDArray[np.bool_]
    ) -> Parse | None:
        grammar = self.coarse.grammar
        every = np.arange(len(grammar.symbols), dtype=np.int32)
        emissions = _limited(self.coarse.emissions(words), tags, every)
        allowed = possible(emissions, grammar.rules, self._groups, grammar.root, COARSE_BEAM, THRESHOLD, ends)
        if not len(allowed):
            return None
        for level, kinds, name in (
            (self.fine, self._kinds, "fine"),
            (self.plain, self._plain_kinds, "plain"),
        ):
            emissions = _limited(level.emissions(words), tags, kinds)
            searched = _searched(level, words, emissions, n_best, allowed, kinds, FINE_BEAM)
            if searched:
                return Parse(*searched, name)
        return None


def _limited(emissions: Emissions, tags: NDArray[np.bool_] | None, kinds: NDArray[np.int32]) -> Emissions:
    if tags is None:
        return emissions
    starts, symbols, scores = emissions
    word = np.repeat(np.arange(len(tags)), np.diff(starts))
    kept = tags[word, kinds[symbols]]
    left = np.bincount(word[kept], minlength=len(tags))
    kept |= (left == 0)[word]
    counts = np.bincount(word[kept], minlength=len(tags))
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Emissions(starts, symbols[kept], scores[kept])


Found = tuple[tuple[Node, ...], tuple[float, ...]]


def exhaustive(level: Level, words: Sequence[str], n_best: int = 1) -> Found | None:
    kinds = np.zeros(len(level.grammar.symbols), np.int32)
    no_limits = np.zeros((0, 0), np.bool_)
    return _searched(level, words, level.emissions(words), n_best, no_limits, kinds, np.inf)


def _searched(
    level: Level, words: Sequence[str], emissions: Emissions, n_best: int, allowed: NDArray[np.bool_],
    kinds: NDArray[np.int32], beam: float,
) -> Found | None:  # fmt: skip
    grammar, n = level.grammar, len(words)
    part = restricted(grammar.rules, grammar.root, emissions.tags, kinds, allowed)
    rules, root = part.rules, int(part.numbers[grammar.root])
    numbered = emissions._replace(tags=part.numbers[emissions.tags])
    chart = inside(numbered, rules, allowed, kinds[part.symbols], beam)
    row = chart.bounds[span(0, n), 2]
    if row < 0 or chart.top[row, root] == NEVER:
        return None
    best: Floats = chart.top[row, root]
    if n_best == 1:
        nodes = best_derivation(n, root, chart, rules)
        return (tree_of(in_full(nodes, part), grammar, words),), (float(best),)
    out, _ = outside(n, root, chart, rules, best - SPREAD)
    scores, nodes, begins = k_best(n, root, n_best, chart, out, rules, best - SPREAD)
    nodes = in_full(nodes, part)
    kept = [k for k in range(len(scores)) if scores[k] >= best - SPREAD]
    trees = tuple(tree_of(nodes[begins[k] : begins[k + 1]], grammar, words) for k in kept)
    return trees, tuple(float(scores[k]) for k in kept)
