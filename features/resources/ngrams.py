"""NgramCounts: how often every n-gram occurs in one side of the corpus."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.progress import Progress, silent
from features.core.resource import Resource, load_arrays, save_arrays
from features.core.tokens import Tokens
from features.core.vocabulary import UNK, Vocabulary
from features.resources._ngram_tables import Case, Offsets, OrderTable, Trie, cased, encode, ngram_tables

# QuEst drops n-grams that occur once or twice before it computes cut-offs (its `.ngram.clean` files).
QUEST_MINIMUM = 3


def quartiles(counts: NDArray[np.integer[Any]]) -> tuple[int, int, int]:
    """The three cut-offs between four equal parts of the sorted counts: `sorted[floor(j (size - 1) / 4)]`.

    Raises InputError where there are no counts.

    >>> quartiles(np.array([9, 1, 3, 5, 7]))
    (3, 5, 7)
    """
    size = len(counts)
    if size == 0:
        raise InputError("quartiles need counts, but no n-gram of the corpus is frequent enough")
    at = [j * (size - 1) // 4 for j in (1, 2, 3)]
    found = np.partition(counts, at)
    return int(found[at[0]]), int(found[at[1]]), int(found[at[2]])


@dataclass(eq=False)
class NgramCounts(Resource):
    """Occurrences of all n-grams to the order built; n-grams stay within a sentence, without markers.

    >>> from features.core.tokens import Tokens
    >>> counts = NgramCounts.from_tokens(Tokens.from_lists([["a", "b", "a", "b"]]), order=2)
    >>> counts.counts(Tokens.from_lists([["B", "a", "b"], ["x"]]), 2)
    (array([1, 2]), array([0, 2, 2]))
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "source_ngrams": {"side": "source", "order": 3},
        "target_ngrams": {"side": "target", "order": 3},
        "source_ngrams5": {"side": "source", "order": 5},
        "target_ngrams5": {"side": "target", "order": 5},
    }

    settings: Mapping[str, Any]
    corpus_fingerprint: str
    vocabulary: Vocabulary = field(repr=False)
    trie: Trie = field(repr=False)
    occurrences: NDArray[np.int32] = field(repr=False)
    _cutoffs: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict, repr=False)

    @classmethod
    def build(  # type: ignore[override]
        cls,
        corpus: ParallelCorpus,
        *,
        side: Literal["source", "target"],
        order: int,
        case: Case = "lower",
        progress: Progress = silent,
    ) -> Self:
        """From one side of a parallel corpus; the settings are those of `from_tokens`."""
        found = cls.from_tokens(
            corpus.side(side), order=order, case=case, progress=progress, fingerprint=corpus.fingerprint
        )
        found.settings = {"side": side, **found.settings}
        return found

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
        """From any text; `case` is `lower` (here and in what is looked up) or `true`.

        Raises InputError for an order below 1 or an unknown case.
        """
        text = cased(tokens, case)
        vocabulary, ids = encode(text)
        tables: list[OrderTable] = []
        offsets = np.asarray(text.offsets)
        for done, table in enumerate(ngram_tables(ids, offsets, len(vocabulary), order), start=1):
            tables.append(table)
            progress("counting n-grams", done, order)
        trie = Trie.from_levels([(table.words, table.first) for table in tables])
        settings = {"order": order, "case": case, "ngrams": list(trie.sizes)}
        occurrences = np.concatenate([table.counts for table in tables])
        return cls(settings, fingerprint or tokens.fingerprint, vocabulary, trie, occurrences)

    @property
    def order(self) -> int:
        """The highest order counted."""
        return self.trie.order

    def counts(self, tokens: Tokens, order: int) -> tuple[NDArray[np.int64], Offsets]:
        """Corpus counts of the n-grams of each text, in order of occurrence; and the offsets of the texts.

        A text of m tokens has max(m - order + 1, 0) n-grams; one that the corpus lacks counts 0.

        Raises InputError for an order that was not counted.
        """
        self._check(order)
        nodes, offsets = self._known(tokens), np.asarray(tokens.offsets)
        return self._counts(self.trie.ending(nodes, offsets, order), offsets, order)

    def counts_by_order(self, tokens: Tokens, order: int) -> list[tuple[NDArray[np.int64], Offsets]]:
        """`counts` of the orders 1 to `order`: at the price of the highest.

        Raises InputError for an order that was not counted.
        """
        self._check(order)
        nodes = ids = self._known(tokens)
        offsets = np.asarray(tokens.offsets)
        found = [self._counts(nodes, offsets, 1)]
        for n in range(2, order + 1):
            nodes = self.trie.extend(nodes, ids, offsets)
            found.append(self._counts(nodes, offsets, n))
        return found

    def _known(self, tokens: Tokens) -> NDArray[np.int32]:
        """Ids of the tokens; -1, which is in no n-gram, for unknown words."""
        ids = cased(tokens, self.settings["case"]).ids_in(self.vocabulary)
        return np.where(ids == UNK, np.int32(-1), ids)

    def _counts(
        self, nodes: NDArray[np.int32], offsets: Offsets, order: int
    ) -> tuple[NDArray[np.int64], Offsets]:
        """From the nodes of the n-grams that end at each token."""
        there = _position(offsets) >= order - 1
        found = np.where(nodes >= 0, self.occurrences[nodes], 0).astype(np.int64)
        n_ngrams = np.maximum(np.diff(offsets) - order + 1, 0)
        return found[there], np.concatenate(([0], np.cumsum(n_ngrams))).astype(np.int64)

    def types(self, order: int) -> NDArray[np.int32]:
        """(distinct n-grams,) their counts.

        Raises InputError for an order that was not counted.
        """
        self._check(order)
        found = self.occurrences[self.trie.nodes(order)]
        return found[found > 0] if order == 1 else found  # order 1 lists the markers too

    def quartile_cutoffs(self, order: int, minimum: int = QUEST_MINIMUM) -> tuple[int, int, int]:
        """Counts that part the n-gram types seen at least `minimum` times into four: see `quartiles`.

        The default is QuEst's rule; 1 takes all types.

        Raises InputError for an order that was not counted, or where no type is that frequent.
        """
        if (order, minimum) not in self._cutoffs:
            found = self.types(order)
            self._cutoffs[order, minimum] = quartiles(found[found >= minimum])
        return self._cutoffs[order, minimum]

    def has_types(self, order: int, minimum: int) -> bool:
        """Whether any n-gram of that order occurs `minimum` times: whether there are cut-offs."""
        return (order, minimum) in self._cutoffs or bool((self.types(order) >= minimum).any())

    def total(self, order: int) -> int:
        """Occurrences of all n-grams of that order."""
        return int(self.types(order).sum(dtype=np.int64))

    def _check(self, order: int) -> None:
        if not 1 <= order <= self.order:
            raise InputError(
                f"n-grams of order {order} were not counted",
                remedy=f"orders 1 to {self.order} were; build the part with --set PART.order={order} (in an "
                f"experiment, `resources: {{settings: {{PART: {{order: {order}}}}}}}`)",
            )

    def save(self, path: Path) -> None:
        meta = {
            "settings": dict(self.settings),
            "corpus_fingerprint": self.corpus_fingerprint,
            "sizes": self.trie.sizes,
        }
        arrays = {"words": self.trie.words, "first": self.trie.first, "occurrences": self.occurrences}
        save_arrays(path, meta, **arrays)
        self.vocabulary.save(path / "vocabulary.txt")

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        trie = Trie(tuple(meta["sizes"]), arrays["words"], arrays["first"])
        vocabulary = Vocabulary.load(path / "vocabulary.txt")
        return cls(meta["settings"], meta["corpus_fingerprint"], vocabulary, trie, arrays["occurrences"])


def _position(offsets: Offsets) -> NDArray[np.int64]:
    """(n_tokens,) place of each token in its text, from 0."""
    return np.asarray(np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets)), np.int64)
