"""LanguageModel: interpolated modified Kneser-Ney n-gram models of words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.progress import Progress, silent
from features.core.resource import Resource, load_arrays, save_arrays
from features.core.tokens import FloatArray, Tokens, segment_sum
from features.core.vocabulary import Vocabulary
from features.resources._kneser_ney import estimate
from features.resources._ngram_tables import (
    Case,
    Ints,
    Offsets,
    OrderTable,
    Trie,
    cased,
    encode,
    ngram_tables,
    with_markers,
)

Direction = Literal["forward", "backward"]


@dataclass(frozen=True, eq=False)
class LMScores:
    """What a language model says of every event of a batch: its tokens and, last in each text, `</s>`.

    log10    (n_events,) log10 probability of each event given those before it (a backward model: after it)
    matched  (n_events,) order of the longest n-gram of the model that ends in the event; 0 for a word
             that the model does not know
    backoff  (n_events,) backoff steps: the longest order possible there, `<s>` counted, minus `matched`
    offsets  (n + 1,) events of text i are offsets[i]:offsets[i + 1]
    """

    log10: NDArray[np.float64]
    matched: NDArray[np.int8]
    backoff: NDArray[np.int8]
    offsets: Offsets

    @cached_property
    def is_end(self) -> NDArray[np.bool_]:
        """(n_events,) which events are `</s>`."""
        result = np.zeros(len(self.log10), np.bool_)
        result[self.offsets[1:] - 1] = True
        return result

    @property
    def token_log10(self) -> NDArray[np.float64]:
        """(n_tokens,) log10 of the tokens alone, in step with the tokens scored."""
        return self.log10[~self.is_end]

    @property
    def token_matched(self) -> NDArray[np.int8]:
        """(n_tokens,) matched order of the tokens alone."""
        return self.matched[~self.is_end]

    @property
    def token_backoff(self) -> NDArray[np.int8]:
        """(n_tokens,) backoff steps of the tokens alone."""
        return self.backoff[~self.is_end]


@dataclass(eq=False)
class LanguageModel(Resource):
    """An n-gram model with backoff weights, over words of one side.

    `<unk>`: unknown words have what is left of the unigram distribution for them, an equal share of its
    interpolation mass, as in KenLM; each unknown word in a text is charged with that probability.
    `settings["smoothing"]` tells per order which discounts were used (see `_kneser_ney.discounts`).
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "source_lm": {"side": "source", "order": 3},
        "target_lm": {"side": "target", "order": 5},
    }

    settings: Mapping[str, Any]
    corpus_fingerprint: str
    vocabulary: Vocabulary = field(repr=False)
    trie: Trie = field(repr=False)
    log10: NDArray[np.float32] = field(repr=False)
    backoff: NDArray[np.float32] = field(repr=False)

    @classmethod
    def build(  # type: ignore[override]
        cls,
        corpus: ParallelCorpus,
        *,
        side: Literal["source", "target"],
        order: int,
        direction: Direction = "forward",
        case: Case = "lower",
        minimum: int = 1,
        prune: bool = False,
        progress: Progress = silent,
    ) -> Self:
        """From one side of a parallel corpus; the settings are those of `from_tokens`."""
        model = cls.from_tokens(
            corpus.side(side),
            order=order,
            direction=direction,
            case=case,
            minimum=minimum,
            prune=prune,
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        model.settings = {"side": side, **model.settings}
        return model

    @classmethod
    def from_tokens(
        cls,
        tokens: Tokens,
        *,
        order: int,
        direction: Direction = "forward",
        case: Case = "lower",
        minimum: int = 1,
        prune: bool = False,
        progress: Progress = silent,
        corpus_fingerprint: str | None = None,
    ) -> Self:
        """From any text: words, POS tags, morphemes.

        direction  `backward` predicts each word from those after it
        case       `lower` folds case, here and in what is scored; `true` keeps it
        minimum    words seen less often are unknown words
        prune      drop n-grams of order 3 and more that occur once

        Raises InputError for an order below 1, an unknown direction or case, or a text without words.
        """
        if direction not in ("forward", "backward"):
            raise InputError(f"direction must be 'forward' or 'backward', but got {direction!r}")
        text = cased(tokens, case)
        vocabulary, ids = encode(text, minimum)
        if not ids.any():
            raise InputError("a language model needs text, but there are no words to learn from")
        ids, offsets = with_markers(ids, np.asarray(text.offsets), backward=direction == "backward")
        tables: list[OrderTable] = []
        for done, table in enumerate(ngram_tables(ids, offsets, len(vocabulary), order), start=1):
            tables.append(table)
            progress("counting n-grams", done, order)
        model = estimate(tables, prune)
        settings = {
            "order": order,
            "direction": direction,
            "case": case,
            "minimum": minimum,
            "prune": prune,
            "ngrams": list(model.trie.sizes),
            "smoothing": [{"rule": d.rule, "discounts": list(d.values)} for d in model.discounts],
        }
        print_ = tokens.fingerprint if corpus_fingerprint is None else corpus_fingerprint
        return cls(settings, print_, vocabulary, model.trie, model.log10, model.backoff)

    @property
    def order(self) -> int:
        return self.trie.order

    def score(self, tokens: Tokens) -> LMScores:
        """The probability of every token and text end of a batch."""
        text = cased(tokens, self.settings["case"])
        backward = self.settings["direction"] == "backward"
        ids, offsets = with_markers(text.ids_in(self.vocabulary), np.asarray(text.offsets), backward=backward)
        nodes = ids
        log10 = self.log10[ids].astype(np.float64)
        matched = (ids > 0).astype(np.int8)
        for order in range(2, self.order + 1):
            longer = self.trie.extend(nodes, ids, offsets)
            _back_off(longer, nodes, self.log10, self.backoff, order, log10, matched)
            nodes = longer
        possible = np.minimum(np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets)) + 1, self.order)
        return _events(log10, matched, (possible - matched).astype(np.int8), text, backward)

    def log10_probability(self, tokens: Tokens, with_end: bool = True) -> FloatArray:
        """(n,) log10 probability of each text, `</s>` included unless `with_end` is false.

        An empty text has that of `</s>` after `<s>`, or 0 without the end.
        """
        scores = self.score(tokens)
        if with_end:
            return segment_sum(scores.log10, scores.offsets)
        return segment_sum(scores.token_log10, np.asarray(tokens.offsets))

    def save(self, path: Path) -> None:
        meta = {
            "settings": dict(self.settings),
            "corpus_fingerprint": self.corpus_fingerprint,
            "sizes": self.trie.sizes,
        }
        arrays = {"words": self.trie.words, "first": self.trie.first, "log10": self.log10}
        save_arrays(path, meta, **arrays, backoff=self.backoff)
        self.vocabulary.save(path / "vocabulary.txt")

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        trie = Trie(tuple(meta["sizes"]), arrays["words"], arrays["first"])
        vocabulary = Vocabulary.load(path / "vocabulary.txt")
        return cls(
            meta["settings"], meta["corpus_fingerprint"], vocabulary, trie, arrays["log10"], arrays["backoff"]
        )


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _back_off(
    nodes: Ints,
    contexts: Ints,
    model_log10: NDArray[np.float32],
    model_backoff: NDArray[np.float32],
    order: int,
    log10: NDArray[np.float64],
    matched: NDArray[np.int8],
) -> None:
    """Takes the probabilities one order up: those of the longer n-grams, or the backoff weights."""
    for i in range(1, len(nodes)):
        if nodes[i] >= 0:
            log10[i] = model_log10[nodes[i]]
            matched[i] = order
        elif contexts[i - 1] >= 0:
            log10[i] += model_backoff[contexts[i - 1]]


def _events(
    log10: NDArray[np.float64],
    matched: NDArray[np.int8],
    backoff: NDArray[np.int8],
    text: Tokens,
    backward: bool,
) -> LMScores:
    """Without the `<s>` positions, in the order of the text."""
    n = len(text)
    marked = np.asarray(text.offsets) + 2 * np.arange(n + 1)
    events = np.asarray(text.offsets) + np.arange(n + 1)
    length = np.repeat(np.asarray(text.lengths), text.lengths + 1)
    within = np.arange(events[-1]) - np.repeat(events[:-1], text.lengths + 1)
    step = np.where(within < length, length - 1 - within, within) if backward else within
    at = np.repeat(marked[:-1] + 1, text.lengths + 1) + step
    return LMScores(log10[at], matched[at], backoff[at], events)
