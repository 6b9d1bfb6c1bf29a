"""Aligner: word alignment by two HMMs trained to agree."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from features.basics.array_types import offsets_of
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from features.core.resource import Builder, Parts, Resource
from features.resources._alignment_models import (
    JUMPS,
    Counts,
    Encoded,
    PairTable,
    Shares,
    SparseTable,
    WordPairs,
    encode,
    expect,
    infer,
    initial_jumps,
    train,
)
from features.storage.damage import finite, rows, typed
from features.text.corpus import ParallelCorpus
from features.text.links import Links, symmetrised_mask
from features.text.tokenizer import Tokenizer
from features.text.tokens import BOS, Tokens, Vocabulary

Symmetrization = Literal[
    "grow-diag-final-and", "grow-diag", "intersection", "union", "source-target", "target-source", "posterior"
]
SYMMETRIZATIONS: tuple[str, ...] = get_args(Symmetrization)

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

_NULL = BOS  # as in the lexicon: no word of a text has this id
# The emission of a pair that the table lacks.
_FLOOR = 1e-10
# The emission of a pair of equal strings that the table lacks: names and numbers are mostly copied.
_IDENTITY = 0.1
# Cells of a chunk of sentences: bounds the memory of a training pass, 4 bytes each and thread.
_CHUNK_CELLS = 24_000_000
_THREADS = 2  # of training: expected counts are added up in their order, whatever the machine


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Link posteriors of n segment pairs, (l, m) matrices, row by row, one after the other.

    forward        p(target word j comes from source word i | both sentences), by t(target | source)
    backward       p(source word i comes from target word j | both sentences), by t(source | target)
    forward_null   (n_target_tokens,) p(target word comes from NULL); also backward_null
    """

    lengths: Longs
    widths: Longs
    offsets: Longs
    forward: Singles
    backward: Singles
    forward_null: Singles
    backward_null: Singles
    threshold: float

    def link_probability(self) -> Singles:
        """Geometric mean (cells,) of both directions' posteriors."""
        return np.asarray(np.sqrt(self.forward * self.backward), np.float32)

    def links(self, symmetrization: Symmetrization = "grow-diag-final-and") -> Links:
        """Links by any symmetrisation.

        source-target  every target word and its most probable source word, unless NULL is more probable
        target-source  every source word and its most probable target word, unless NULL is more probable
        intersection, union, grow-diag, grow-diag-final-and  of both (Koehn et al. 2003)
        posterior      all links whose `link_probability` is at least the setting `threshold`
        """
        if symmetrization == "posterior":
            mask = np.asarray(self.link_probability() >= self.threshold)
        else:
            forward, backward = np.zeros(len(self.forward), bool), np.zeros(len(self.forward), bool)
            _best(self.offsets, self.lengths, self.widths, self.forward, self.forward_null, forward, True)
            _best(self.offsets, self.lengths, self.widths, self.backward, self.backward_null, backward, False)
            mask = symmetrised_mask(forward, backward, self.lengths, self.widths, symmetrization)
        return Links.from_mask(mask, self.lengths, self.widths)


@dataclass(frozen=True, kw_only=True)
class AlignerBuilder(Builder):
    """How an aligner is trained.

    prefix      letters of a word that count; 0: all
    null_share  prior probability that a word comes from NULL
    alpha       the Dirichlet prior of the translation probabilities
    prune       word pairs below it in both directions after IBM Model 1 are left out
    threshold   of the symmetrisation `posterior`
    """

    prefix: Count = 5
    model1_iterations: int = 3
    hmm_iterations: int = 3
    null_share: float = 0.1
    alpha: float = 0.03
    prune: float = 1e-4
    threshold: float = 0.3

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Aligner":
        steps = 2 * self.model1_iterations
        source_vocabulary, source = encode(_shortened(corpus.source, self.prefix))
        target_vocabulary, target = encode(_shortened(corpus.target, self.prefix))
        report = partial(progress, "aligning: IBM Model 1")
        table = _start(
            source, target, self.model1_iterations, self.prune, lambda completed: report(completed, steps)
        )
        jumps = np.stack([initial_jumps(), initial_jumps()])
        likelihoods = []
        for iteration in range(self.hmm_iterations):
            stage = f"aligning: HMM {iteration + 1}/{self.hmm_iterations}"
            table, jumps, likelihood = _iterate(
                table, jumps, source, target, self.null_share, self.alpha, partial(progress, stage)
            )
            likelihoods.append(likelihood)
        return Aligner(
            source_vocabulary,
            target_vocabulary,
            table,
            jumps,
            tuple(likelihoods),
            settings=self.settings,
            corpus_fingerprint=corpus.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class Aligner(Resource):
    """HMM alignment models of both directions, trained to agree. Vogel et al. 1996; Liang et al. 2006. IBM
    Model 1 in each direction is the start; then EM in which the expected count of a link is the product of
    its posteriors in the two directions, with the variational-Bayes update of fast_align (Dyer et al. 2013).
    Words are lower-cased and cut to their first `prefix` letters, which helps with inflection.
    """

    parts: ClassVar[Parts] = {"aligner": {}}
    builder = AlignerBuilder

    source: Vocabulary
    target: Vocabulary
    table: PairTable
    jumps: Floats  # (2, JUMPS): forward, backward
    log_likelihoods: tuple[float, ...] = ()

    def check_arrays(self) -> None:
        table, sizes = self.table, (len(self.source), len(self.target))
        values = {name: (getattr(table, name), np.float32) for name in ("forward", "backward")}
        rows(table.offsets, sizes[0], table.columns, sizes[1], **values)
        typed("forward_null", table.forward_null, np.float32, sizes[1])
        typed("backward_null", table.backward_null, np.float32, sizes[0])
        typed("jumps", self.jumps, np.float64, 2, JUMPS)
        for name in ("forward", "backward", "forward_null", "backward_null"):
            finite(name, getattr(table, name), 0)
        finite("jumps", self.jumps, 0)

    def posteriors(self, source: Tokens, target: Tokens) -> Posteriors:
        """Link posteriors of any segment pairs; unknown words are placed by neighbours and equal strings."""
        return self._infer(self._encode(source, target))

    def align(
        self,
        source: Tokens,
        target: Tokens,
        symmetrization: Symmetrization = "grow-diag-final-and",
        batch: int = 2000,
        *,
        progress: Progress = silent,
    ) -> Links:
        encoded = self._encode(source, target)
        edges = [*range(0, len(source), batch), len(source)]

        def work(rows: tuple[int, int]) -> Links:
            return self._infer(encoded.slice(*rows)).links(symmetrization)

        pieces = []
        for piece in side_by_side(work, list(pairwise(edges))):
            pieces.append(piece)
            progress("aligning", edges[len(pieces)], len(source))
        return Links.concatenate(pieces)

    def corpus_links(
        self, corpus: ParallelCorpus, symmetrization: Symmetrization, progress: Progress = silent
    ) -> Links:
        """The links of a corpus; files of links have the same methods, in place of an aligner."""
        return self.align(corpus.source, corpus.target, symmetrization, progress=progress)

    def provenance(self, symmetrization: Symmetrization | None = None) -> dict[str, str]:
        """Settings that identify links."""
        by = {} if symmetrization is None else {"symmetrization": symmetrization}
        return {**by, "aligner": self.fingerprint}

    def _encode(self, source: Tokens, target: Tokens) -> "_Pairs":
        prefix = int(self.settings["prefix"])
        left_tokens, right = _shortened(source, prefix), _shortened(target, prefix)
        sides = (
            Encoded(left_tokens.ids_in(self.source), left_tokens.offsets, len(self.source)),
            Encoded(right.ids_in(self.target), right.offsets, len(self.target)),
        )
        index = {word: i for i, word in enumerate(left_tokens.types)}
        mapping = np.array([index.get(word, -1) for word in right.types], np.int32)
        common_ids = (left_tokens.ids, mapping[right.ids] if len(mapping) else right.ids)
        return _Pairs(*sides, *common_ids)

    def _infer(self, pairs: "_Pairs") -> Posteriors:
        source, target, table = pairs.source, pairs.target, self.table
        cells, offsets = table.cells(source, target)
        _mark_identical(pairs, offsets, cells)
        size = len(cells), len(cells), len(target.ids), len(source.ids)
        result = WordPairs(*(np.empty(length, np.float32) for length in size))
        nulls = table.forward_null[target.ids], table.backward_null[source.ids]
        emissions = WordPairs(table.forward, table.backward, *nulls)
        shares = Shares(float(self.settings["null_share"]), _FLOOR, _IDENTITY)
        jumps = np.array(self.jumps)  # never read-only: one compiled kernel, one rounding
        infer(cells, offsets, source, target, emissions, jumps, shares, result)
        lengths, widths = np.diff(source.offsets), np.diff(target.offsets)
        return Posteriors(lengths, widths, offsets, *result, threshold=float(self.settings["threshold"]))


class _Pairs(NamedTuple):
    source: Encoded
    target: Encoded
    source_strings: Ints
    target_strings: Ints

    def slice(self, first: int, last: int) -> "_Pairs":
        s, t = self.source.offsets[[first, last]], self.target.offsets[[first, last]]
        sides = _slice(self.source, first, last), _slice(self.target, first, last)
        return _Pairs(*sides, self.source_strings[slice(*s)], self.target_strings[slice(*t)])


def align_lines(
    aligner: Aligner,
    pairs: Iterable[tuple[str, str]],
    tokenizers: tuple[Tokenizer, Tokenizer],
    symmetrization: Symmetrization = "grow-diag-final-and",
    *,
    batch: int = 1000,
    progress: Progress = silent,
) -> Iterator[str]:
    """One Pharaoh line per pair of lines, in input order; empty if a side is empty."""
    stream, done = iter(pairs), 0
    while part := list(islice(stream, batch)):
        source, target = (
            tokenizer.tokens(side)
            for tokenizer, side in zip(tokenizers, zip(*part, strict=True), strict=True)
        )
        yield from aligner.align(source, target, symmetrization).pharaoh()
        done += len(part)
        progress("aligning", done, None)


def _shortened(tokens: Tokens, prefix: int) -> Tokens:
    return tokens.with_types(word.lower()[: prefix or None] for word in tokens.types)


def _start(source: Encoded, target: Encoded, iterations: int, prune: float, report: Any) -> PairTable:
    one, _ = train(source, target, _NULL, iterations, report)
    forward, forward_null = _split_null(one, target.size)
    counts, _ = train(target, source, _NULL, iterations, lambda n: report(iterations + n))
    backward, backward_null = _split_null(counts, source.size)
    values = np.empty(len(backward.values), np.float32)
    _transpose(backward, forward.offsets[:-1].copy(), values)
    keep = (forward.values >= prune) | (values >= prune)
    there = forward.values.astype(np.float32)
    return PairTable(forward.offsets, forward.columns, there, values, forward_null, backward_null).filtered(
        keep
    )


@numba.njit(cache=True)
def _transpose(table: Any, free: Any, result: Any) -> None:
    offsets, columns, values = table
    for row in range(len(offsets) - 1):
        for e in range(offsets[row], offsets[row + 1]):
            result[free[columns[e]]] = values[e]
            free[columns[e]] += 1


def _split_null(table: SparseTable, size: int) -> tuple[SparseTable, Singles]:
    first, last = table.offsets[_NULL], table.offsets[_NULL + 1]
    null = np.full(size, _FLOOR, np.float32)
    null[table.columns[first:last]] = np.maximum(table.values[first:last], _FLOOR)
    offsets = table.offsets.copy()
    offsets[_NULL + 1 :] -= last - first
    there = np.ones(len(table.values), bool)
    there[first:last] = False
    return SparseTable(offsets, table.columns[there], table.values[there]), null


def _iterate(
    table: PairTable,
    jumps: Floats,
    source: Encoded,
    target: Encoded,
    null_share: float,
    alpha: float,
    report: Callable[[int, int], None],
) -> tuple[PairTable, Floats, float]:
    cells_before = offsets_of(np.diff(source.offsets) * np.diff(target.offsets))
    number = max(_THREADS, int(-(-cells_before[-1] // _CHUNK_CELLS)))
    edges = np.searchsorted(cells_before, np.linspace(0, cells_before[-1], number + 1))
    chunks = list(pairwise(np.unique(edges).tolist()))
    nulls = len(table.forward_null), len(table.backward_null)
    shapes = (len(table.columns), *nulls, (2, JUMPS), (2, JUMPS), 1)
    parts = [Counts(*(np.zeros(shape) for shape in shapes)) for _ in range(_THREADS)]
    shares = Shares(null_share, _FLOOR, _FLOOR)

    def work(chunk: tuple[int, int], counts: Counts) -> None:
        sides = _slice(source, *chunk), _slice(target, *chunk)
        cells, offsets = table.cells(*sides)
        counts.likelihood[0] += expect(cells, offsets, *sides, table.emissions, jumps, shares, counts)

    with ExitStack() as stack:
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in parts]
        waiting = [
            threads[k % _THREADS].submit(work, chunk, parts[k % _THREADS]) for k, chunk in enumerate(chunks)
        ]
        for done, finished in enumerate(as_completed(waiting), start=1):
            finished.result()
            report(done, len(chunks))
    for part in parts[1:]:
        for total, counts in zip(parts[0], part, strict=True):
            total += counts
    return *_maximise(table, parts[0], alpha), float(parts[0].likelihood[0])


def _slice(side: Encoded, first: int, last: int) -> Encoded:
    start, end = side.offsets[first], side.offsets[last]
    return Encoded(side.ids[start:end], side.offsets[first : last + 1] - start, side.size)


def _maximise(table: PairTable, counts: Counts, alpha: float) -> tuple[PairTable, Floats]:
    rows, columns = table.rows, table.columns
    forward = _normalised(counts.pairs, rows, len(table.backward_null), alpha)
    backward = _normalised(counts.pairs, columns, len(table.forward_null), alpha)
    nulls = [
        _normalised(c, np.zeros(len(c), np.int32), 1, alpha)
        for c in (counts.forward_null, counts.backward_null)
    ]
    new = PairTable(table.offsets, columns, forward, backward, nulls[0], nulls[1])
    jumps = np.maximum(counts.jumps / np.maximum(counts.chances, 1e-30), 1e-8)
    return new.filtered((forward > _FLOOR) | (backward > _FLOOR)), jumps / jumps.sum(axis=1, keepdims=True)


def _normalised(counts: Floats, group: Ints, groups: int, alpha: float) -> Singles:
    total = np.bincount(group, weights=counts, minlength=groups)
    size = np.bincount(group, minlength=groups)
    below = digamma(np.maximum(total + alpha * size, 1e-30))
    return np.maximum(np.exp(digamma(counts + alpha) - below[group]), _FLOOR).astype(np.float32)


@numba.njit(cache=True, nogil=True)
def _mark_identical(pairs: Any, offsets: Any, cells: Any) -> None:
    source, target = pairs.source.offsets, pairs.target.offsets
    for k in range(len(source) - 1):
        e = offsets[k]
        for i in range(source[k], source[k + 1]):
            for j in range(target[k], target[k + 1]):
                if cells[e] == -1 and pairs.source_strings[i] == pairs.target_strings[j]:
                    cells[e] = -2
                e += 1


@numba.njit(cache=True, nogil=True)
def _best(
    offsets: Any, lengths: Any, widths: Any, posterior: Any, null: Any, mask: Any, by_target: bool
) -> None:
    word = 0
    for k in range(len(lengths)):
        here = posterior[offsets[k] : offsets[k + 1]].reshape((lengths[k], widths[k]))
        chosen = mask[offsets[k] : offsets[k + 1]].reshape((lengths[k], widths[k]))
        if not by_target:
            here, chosen = here.T, chosen.T
        for j in range(here.shape[1]):
            if here.shape[0] > 0:
                i = np.argmax(here[:, j])
                chosen[i, j] = here[i, j] > null[word]
            word += 1
