"""Parsing with a chart: a guide and a coarse grammar limit it, the fine grammar gives the best trees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from features.basics.array_types import UNCOUNTED
from features.basics.progress import Progress, silent
from features.storage.files import digest
from features.text.tokens import Tokens
from qe_treebanks.annotator_folder import indexed
from qe_treebanks.annotators import _storage
from qe_treebanks.annotators._cky import (
    NEVER,
    Emissions,
    Flags,
    Floats,
    Ints,
    Longs,
    Rules,
    best_derivation,
    inside,
    k_best,
    outside,
    span,
)
from qe_treebanks.annotators._grammar import (
    TAG,
    Counts,
    Grammar,
    Lexicon,
    Node,
    grammar_of,
    kind_name,
    plain_name,
    tree_of,
)
from qe_treebanks.annotators._storage import Arrays
from qe_treebanks.annotators._word_models import SequenceModel, Training, fit_sequence
from qe_treebanks.hashed_features import Hashes, templates

_LANES: Final = 8  # columns are padded to a multiple of this


class Grouped(NamedTuple):
    """The binary rules grouped by right child and by parent.

    Right child C has the entries by_right[C] to by_right[C + 1] of the first three arrays. Parent A has the
    entries by_parent[A] to by_parent[A + 1] of the last four, by left child. The first rule after r with
    another left child is at after[r].
    """

    by_right: Longs
    parents: Ints
    lefts: Ints
    scores: Floats
    by_parent: Longs
    first: Ints
    second: Ints
    weights: Floats
    ends: Longs


def grouped(rules: Rules) -> Grouped:
    lefts = np.repeat(np.arange(len(rules.stay), dtype=np.int32), np.diff(rules.starts))
    every = np.arange(len(rules.stay) + 1)
    right, parent = np.argsort(rules.rights, kind="stable"), np.lexsort((lefts, rules.parents))
    ends = np.flatnonzero(np.diff(lefts[parent]) | np.diff(rules.parents[parent])) + 1
    ends = np.append(ends, len(parent))
    return Grouped(
        np.searchsorted(rules.rights[right], every).astype(np.int64),
        rules.parents[right],
        lefts[right],
        rules.scores[right],
        np.searchsorted(rules.parents[parent], every).astype(np.int64),
        lefts[parent],
        rules.rights[parent],
        rules.scores[parent],
        ends[np.searchsorted(ends, np.arange(len(parent)), side="right")].astype(np.int64),
    )


@njit(**UNCOUNTED)
def _finished(base: Floats, top: Floats, i: int, rules: Rules, beam: float, active: Ints) -> int:
    count, best = 0, NEVER
    for symbol in range(len(rules.stay)):
        score = base[symbol, i]
        if score == NEVER:
            continue
        top[symbol, i] = max(top[symbol, i], score + rules.stay[symbol])
        for c in range(rules.below[symbol], rules.below[symbol + 1]):
            upper = rules.tops[c]
            top[upper, i] = max(top[upper, i], score + rules.chains[c])
    for symbol in range(len(rules.stay)):
        best = max(best, top[symbol, i] + rules.priors[symbol])
    for symbol in range(len(rules.stay)):
        if top[symbol, i] == NEVER:
            continue
        if top[symbol, i] + rules.priors[symbol] < best - beam:
            top[symbol, i] = NEVER
        else:
            active[count] = symbol
            count += 1
    return count


@njit(cache=True, nogil=True)
def chart(words: Emissions, rules: Rules, groups: Grouped, beam: float, ends: Flags) -> tuple[Floats, Floats]:
    """Best inside scores (spans, S) of bases and of tops; arguments as for `_cky.inside`."""
    n, size = len(words.starts) - 1, len(rules.stay)
    columns = -(-n // _LANES) * _LANES
    made = np.empty((size, columns), np.float32)  # bases of spans with the same end, by beginning
    top = np.full((n + 1, size, columns), NEVER, np.float32)  # by end, symbol, beginning
    bases = np.full((n * (n + 1) // 2, size), NEVER, np.float32)
    tops = np.full(bases.shape, NEVER, np.float32)
    blocks = np.empty((n + 1, size, 2), np.int64)  # first and last block of columns with a top, by end
    blocks[:, :, 0], blocks[:, :, 1] = columns, -1
    active = np.empty(size, np.int32)
    for j in range(1, n + 1):
        made[:], whole = NEVER, top[j]
        for k in range(words.starts[j - 1], words.starts[j]):
            made[words.tags[k], j - 1] = max(made[words.tags[k], j - 1], words.scores[k])
        for m in range(j - 1, -1 if ends[j - 1] else j - 2, -1):
            for child in active[: _finished(made, whole, m, rules, beam, active)]:
                blocks[j, child, 0] = min(blocks[j, child, 0], m // _LANES)
                blocks[j, child, 1] = max(blocks[j, child, 1], m // _LANES)
                for r in range(groups.by_right[child], groups.by_right[child + 1]):
                    left, parent = groups.lefts[r], groups.parents[r]
                    score = whole[child, m] + groups.scores[r]
                    for block in range(blocks[m, left, 0], blocks[m, left, 1] + 1):
                        first = block * _LANES
                        for i in range(first, first + _LANES):
                            made[parent, i] = max(made[parent, i], top[m, left, i] + score)
            bases[span(m, j)], tops[span(m, j)] = made[:, m], whole[:, m]
    return bases, tops


@njit(cache=True, nogil=True)
def possible(
    words: Emissions, rules: Rules, groups: Grouped, root: int, beam: float, threshold: float, ends: Flags
) -> Flags:
    """Symbols (spans, S) with two children or a word in a tree near the best; (0, 0): no tree."""
    n = len(words.starts) - 1
    base, top = chart(words, rules, groups, beam, ends)
    best = top[span(0, n), root]
    if best == NEVER:
        return np.zeros((0, 0), np.bool_)
    result = np.zeros((n * (n + 1) // 2, len(rules.stay)), np.bool_)
    scores = np.full(top.shape, NEVER, np.float32)
    scores[span(0, n), root] = 0.0
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            if length > 1 and not ends[j - 1]:
                continue
            here = span(i, j)
            for symbol in range(len(rules.stay)):
                if base[here, symbol] == NEVER:
                    continue
                above = _above(symbol, top[here], scores[here], rules)
                if above + base[here, symbol] >= best - threshold:
                    result[here, symbol] = True
                    _downwards(i, j, symbol, above, top, scores, groups)
    return result


@njit(**UNCOUNTED)
def _above(symbol: int, top: Floats, scores: Floats, rules: Rules) -> float:
    score = scores[symbol] + rules.stay[symbol] if top[symbol] > NEVER else NEVER
    for c in range(rules.below[symbol], rules.below[symbol + 1]):
        if top[rules.tops[c]] > NEVER:
            score = max(score, scores[rules.tops[c]] + rules.chains[c])
    return float(score)


@njit(**UNCOUNTED)
def _downwards(
    i: int, j: int, symbol: int, above: float, top: Floats, scores: Floats, groups: Grouped
) -> None:
    for m in range(i + 1, j):
        first, second = span(i, m), span(m, j)
        begin, end = groups.by_parent[symbol], groups.by_parent[symbol + 1]
        while begin < end:
            left, ends = groups.first[begin], groups.ends[begin]
            one = top[first, left]
            if one > NEVER:
                for r in range(begin, ends):
                    right = groups.second[r]
                    two = top[second, right]
                    if two > NEVER:
                        score = np.float32(above) + groups.weights[r]
                        scores[first, left] = max(scores[first, left], score + two)
                        scores[second, right] = max(scores[second, right], score + one)
            begin = ends


class Restricted(NamedTuple):
    """A grammar of some symbols; old numbers of symbols and chains, new number (S,) of each symbol or -1."""

    rules: Rules
    symbols: Ints
    numbers: Ints
    chains: Ints


@njit(cache=True, nogil=True)
def usable(tags: Ints, rules: Rules, kinds: Ints, pairs: Flags) -> tuple[Flags, Flags]:
    """Symbols (S,) that can be base, and top, of a span of words with these `tags`; no `pairs`: all kinds."""
    base = np.zeros(len(rules.stay), np.bool_)
    top = np.zeros(len(rules.stay), np.bool_)
    for tag in tags:
        _reached(tag, base, top, rules)
    more = True
    while more:
        more = False
        for left in range(len(rules.stay)):
            if not top[left]:
                continue
            for r in range(rules.starts[left], rules.starts[left + 1]):
                parent = rules.parents[r]
                if not base[parent] and top[rules.rights[r]] and (len(pairs) == 0 or pairs[kinds[parent]]):
                    _reached(parent, base, top, rules)
                    more = True
    return base, top


@njit(cache=True, nogil=True)
def _reached(symbol: int, base: Flags, top: Flags, rules: Rules) -> None:
    base[symbol] = True
    top[symbol] = top[symbol] or rules.stay[symbol] > -np.inf
    for c in range(rules.below[symbol], rules.below[symbol + 1]):
        top[rules.tops[c]] = True


def restricted(rules: Rules, root: int, tags: Ints, kinds: Ints, allowed: Flags) -> Restricted:
    """The rules usable for words with these `tags`, and the root; no tree is lost."""
    pairs = allowed.any(axis=0) if len(allowed) else np.zeros(0, np.bool_)
    base, top = usable(tags, rules, kinds, pairs)
    kept = base | top
    kept[root] = True
    symbols = np.flatnonzero(kept).astype(np.int32)
    numbers = np.full(len(kept), -1, np.int32)
    numbers[symbols] = np.arange(len(symbols), dtype=np.int32)
    part: Restricted = _renumbered(rules, base, top, symbols, numbers)
    return part


@njit(cache=True, nogil=True)
def _renumbered(rules: Rules, base: Flags, top: Flags, symbols: Ints, numbers: Ints) -> Restricted:
    size = len(symbols)
    starts, below = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    parents, rights = np.empty(len(rules.parents), np.int32), np.empty(len(rules.parents), np.int32)
    scores = np.empty(len(rules.parents), np.float32)
    tops, chains = np.empty(len(rules.tops), np.int32), np.empty(len(rules.tops), np.int32)
    ways = np.empty(len(rules.tops), np.float32)
    n = m = 0
    for new, old in enumerate(symbols):
        if top[old]:
            for r in range(rules.starts[old], rules.starts[old + 1]):
                if base[rules.parents[r]] and top[rules.rights[r]]:
                    parents[n], rights[n] = numbers[rules.parents[r]], numbers[rules.rights[r]]
                    scores[n] = rules.scores[r]
                    n += 1
        if base[old]:
            for c in range(rules.below[old], rules.below[old + 1]):
                tops[m], ways[m], chains[m] = numbers[rules.tops[c]], rules.chains[c], c
                m += 1
        starts[new + 1], below[new + 1] = n, m
    made = Rules(
        starts, parents[:n], rights[:n], scores[:n], below, tops[:m], ways[:m], rules.stay[symbols],
        rules.priors[symbols],
    )  # fmt: skip
    return Restricted(made, symbols, numbers, chains[:m])


MARGIN: Final = 20.0  # maximum score distance from the best labelling
_WITHIN, _END = "", " )"  # a label is the kind of a tag followed by one of them
_EPOCHS: Final = 6
_TEMPLATES: Final = templates(
    "form+0|lower+0|lower-1|lower+1|lower-2|lower+2|prefix1+0|prefix2+0|prefix3+0|suffix1+0|suffix2+0|"
    "suffix3+0|suffix4+0|suffix5+0|short_shape+0|kind+0|lower-1 lower+0|lower+0 lower+1|suffix3-1|suffix3+1|"
    "suffix2-1 suffix3+0|suffix3+0 suffix2+1|kind-1 kind+0|short_shape-1|short_shape+1|lower-1 lower+1|"
    "lower-2 lower-1|lower+1 lower+2|suffix2-1 suffix2+1|suffix2+1 suffix2+2"
)
VERSION: Final = digest(_TEMPLATES)  # weights are valid for these features only


class Limits(NamedTuple):
    """Limits on a text of n words: kinds of tags (n, K), and words (n,) that can end a constituent."""

    kinds: Flags
    ends: Flags


@dataclass(frozen=True, eq=False)
class Guide:
    """A sequence model, trained on a treebank, that labels words with tags and ends of constituents.

    A label joins the kind of a word's tag (`kind_name`), and whether a constituent of several words, shorter
    than the text, ends with the word; unlike in Roark and Hollingshead 2008, several labels remain possible.
    """

    model: SequenceModel

    @classmethod
    def learned(cls, trees: Sequence[Node], progress: Progress = silent) -> "Guide":
        names = [name for tree in trees for name in _labels(tree)]
        labels, gold = indexed(names)
        tokens = Tokens.from_lists([tree.words() for tree in trees])
        training = Training(_EPOCHS, progress=progress, stage="tags and ends of constituents")
        return cls(fit_sequence(tokens, gold, labels, _TEMPLATES, training))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label.removesuffix(_END) for label in self.model.labels))

    def limits(self, tokens: Tokens, hashes: Hashes | None = None) -> Iterator[Limits]:
        near = self.model.near(tokens, MARGIN, hashes)
        kinds = self.kinds
        places = np.array([kinds.index(label.removesuffix(_END)) for label in self.model.labels])
        closing = np.array([label.endswith(_END) for label in self.model.labels])
        for low, high in zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True):
            of_text: Flags = near[low:high]
            words, labels = np.nonzero(of_text)
            possible: Flags = np.zeros((high - low, len(kinds)), np.bool_)
            possible[words, places[labels]] = True
            ends = of_text @ closing  # logical or
            ends[-1:] = True
            yield Limits(possible, ends)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        return {"guide": self.model.weights, "transitions": self.model.transitions}

    @classmethod
    def load(cls, arrays: Arrays, labels: tuple[str, ...]) -> "Guide":
        tags = all(label.startswith(TAG) and len(label) > 1 for label in labels)
        _storage.check(tags, "a label is no tag")
        return cls(SequenceModel.load(arrays, "guide", labels, _TEMPLATES))


def _labels(tree: Node) -> list[str]:
    """The label of every word.

    >>> phrase = Node("NP", (Node("DT", word="the"), Node("NN", word="cat")))
    >>> _labels(Node("S", (phrase, Node("VB", word="sleeps"))))
    ['/DT', '/NN )', '/VB']
    """
    kinds: list[str] = []
    ends: set[int] = set()
    _walk(tree, kinds, ends)
    last = len(kinds) - 1
    return [kind + (_END if k in ends and k < last else _WITHIN) for k, kind in enumerate(kinds)]


def _walk(node: Node, kinds: list[str], ends: set[int]) -> None:
    if node.word:
        kinds.append(kind_name(TAG + node.label))
        return
    first = len(kinds)
    for child in node.children:
        _walk(child, kinds, ends)
    if len(kinds) - first > 1:
        ends.add(len(kinds) - 1)


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
    """A grammar and its lexicon; `kinds` (S,) is the place of each symbol's kind in the coarse grammar."""

    grammar: Grammar
    lexicon: Lexicon
    kinds: Ints
    _by_key: dict[tuple[str, ...], tuple[Ints, Floats]] = field(default_factory=dict, repr=False)

    @classmethod
    def build(cls, counts: Counts, coarse: Grammar | None = None) -> "Level":
        """The grammar of the counts; below a coarse one, rules of each left child are ordered by kind."""
        grammar, lexicon = grammar_of(counts), Lexicon(counts.words)
        if coarse is None:
            return cls(grammar, lexicon, np.arange(len(grammar.symbols), dtype=np.int32))
        kinds = np.array([coarse.index[kind_name(symbol)] for symbol in grammar.symbols], np.int32)
        rules = grammar.rules
        lefts = np.repeat(np.arange(len(rules.stay)), np.diff(rules.starts))
        order = np.lexsort((kinds[rules.parents], lefts))
        ordered = rules._replace(
            parents=rules.parents[order], rights=rules.rights[order], scores=rules.scores[order]
        )
        return cls(replace(grammar, rules=ordered), lexicon, kinds)

    def emissions(self, words: Sequence[str], kinds: Flags | None = None) -> Emissions:
        """The words' tags, of `kinds` (n, coarse symbols) for words that have one of them."""
        of_words = [self._of_word(word) for word in words]
        word = np.repeat(np.arange(len(words)), [len(tags) for tags, _ in of_words])
        tags, scores = (np.concatenate(parts) for parts in zip(*of_words, strict=True))
        if kinds is not None:
            kept = kinds[word, self.kinds[tags]]
            kept |= (np.bincount(word[kept], minlength=len(words)) == 0)[word]
            word, tags, scores = word[kept], tags[kept], scores[kept]
        counts = np.bincount(word, minlength=len(words))
        return Emissions(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), tags, scores)

    def _of_word(self, word: str) -> tuple[Ints, Floats]:
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
        return Level.build(self.counts, self.coarse.grammar)

    @cached_property
    def plain(self) -> Level:
        return Level.build(self.counts.renamed(plain_name), self.coarse.grammar)

    @cached_property
    def coarse(self) -> Level:
        return Level.build(self.counts.renamed(kind_name))

    @cached_property
    def _groups(self) -> Grouped:
        return grouped(self.coarse.grammar.rules)

    def parse_all(self, texts: Tokens, n_best: int = 1, hashes: Hashes | None = None) -> Iterator[Parse]:
        """The best trees of every text, at most `n_best`, within the guide's limits if there is one."""
        limits = repeat(None) if self.guide is None else self.guide.limits(texts, hashes)
        for i, of_text in zip(range(len(texts)), limits, strict=False):
            yield self.parse(texts.words(i), n_best, of_text)

    def parse(self, words: Sequence[str], n_best: int = 1, limits: Limits | None = None) -> Parse:
        """The best trees of a text within the limits, which are ignored if no tree satisfies them."""
        if not 0 < len(words) <= LONGEST:
            return Parse((), (), "none")
        for of_text in (None,) if limits is None else (limits, None):
            parse = self._pruned(words, n_best, of_text)
            if parse is not None:
                return parse
        searched = exhaustive(self.plain, words, n_best)
        return Parse(*searched, "plain") if searched else Parse((), (), "none")

    def _pruned(self, words: Sequence[str], n_best: int, limits: Limits | None) -> Parse | None:
        grammar, ends, kinds = self.coarse.grammar, np.ones(len(words), np.bool_), None
        if limits is not None and self.guide is not None:
            kinds, ends = np.zeros((len(words), len(grammar.symbols)), np.bool_), limits.ends
            kinds[:, [grammar.index[kind] for kind in self.guide.kinds]] = limits.kinds
        emissions = self.coarse.emissions(words, kinds)
        allowed = possible(emissions, grammar.rules, self._groups, grammar.root, COARSE_BEAM, THRESHOLD, ends)
        if not len(allowed):
            return None
        for name in ("fine", "plain"):
            level: Level = getattr(self, name)
            given = level.emissions(words, kinds)
            searched = _searched(level, words, given, n_best, allowed, level.kinds, FINE_BEAM)
            if searched:
                return Parse(*searched, name)
        return None


Found = tuple[tuple[Node, ...], tuple[float, ...]]


def exhaustive(level: Level, words: Sequence[str], n_best: int = 1) -> Found | None:
    kinds = np.zeros(len(level.grammar.symbols), np.int32)
    no_limits = np.zeros((0, 0), np.bool_)
    return _searched(level, words, level.emissions(words), n_best, no_limits, kinds, np.inf)


def _searched(
    level: Level, words: Sequence[str], emissions: Emissions, n_best: int, allowed: Flags,
    kinds: Ints, beam: float,
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
        scores, begins = np.array([best]), np.array([0, len(nodes)])
    else:
        out, _ = outside(n, root, chart, rules, best - SPREAD)
        scores, nodes, begins = k_best(n, root, n_best, chart, out, rules, best - SPREAD)
    chained = nodes[:, 3] >= 0  # numbers of the whole grammar from here on
    nodes[:, 0], nodes[chained, 3] = part.symbols[nodes[:, 0]], part.chains[nodes[chained, 3]]
    kept = [k for k in range(len(scores)) if scores[k] >= best - SPREAD]
    trees = tuple(tree_of(nodes[begins[k] : begins[k + 1]], grammar, words) for k in kept)
    return trees, tuple(float(scores[k]) for k in kept)
