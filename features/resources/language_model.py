"""LanguageModel: interpolated modified Kneser-Ney n-gram models of words."""

import importlib
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self, cast

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.plugins import install
from features.basics.progress import Progress, reported, silent
from features.core.bundle import RESOURCES
from features.core.resource import Builder, Parts, Resource, load_arrays, save_arrays
from features.resources._ngram_models import Arpa, estimate, read_arpa, write_arpa
from features.resources.morphemes import SideBuilder
from features.resources.word_lexicon import plain
from features.storage.compact import Stored, check, coded, decoded, gather, listed, read_at, readable
from features.storage.damage import damage_reported, finite
from features.storage.files import DAMAGED_GZIP, atomic_file, damage_of, open_binary, sha256
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import (
    Case,
    Ints,
    Offsets,
    Trie,
    cased,
    encode,
    ngram_tables,
    with_markers,
)
from features.text.tokens import UNK, Tokens, Vocabulary, segment_sum

Direction = Literal["forward", "backward"]

# Tools write -99 or -100 for what has no probability; sums of both stay numbers when they are no logarithms.
_LEAST: Final = -100.0
_MOST_BACKOFF: Final = 30.0

# Tags and morphemes: DFKI (Popovic 2012), section 2.2 (PLM6, MLM6).
_UNITS: Final = {"order": 6, "case": "true"}

_KENLM_FILE = "model.kenlm"
_KENLM_MAGIC = b"mmap lm http://kheafield.com/code"


@dataclass(frozen=True, eq=False)
class LMScores:
    """Scores of each event of a batch: its tokens and, last in each text, `</s>`.

    log10    (n_events,) log10 probability of each event given those before it (a backward model: after it)
    matched  (n_events,) order of the longest n-gram of the model that ends in the event; 0: unknown word
    backoff  (n_events,) backoff steps: the longest order possible there, `<s>` counted, minus `matched`
    offsets  (n + 1,) events of text i are offsets[i]:offsets[i + 1]
    """

    log10: NDArray[np.float64]
    matched: NDArray[np.int8]
    backoff: NDArray[np.int8]
    offsets: Offsets

    @cached_property
    def is_end(self) -> NDArray[np.bool_]:
        result = np.zeros(len(self.log10), np.bool_)
        result[self.offsets[1:] - 1] = True
        return result

    @property
    def token_log10(self) -> NDArray[np.float64]:
        return self.log10[~self.is_end]

    @property
    def token_matched(self) -> NDArray[np.int8]:
        return self.matched[~self.is_end]

    @property
    def token_backoff(self) -> NDArray[np.int8]:
        return self.backoff[~self.is_end]


@dataclass(frozen=True, kw_only=True)
class LanguageModelBuilder(SideBuilder):
    """From one side of a parallel corpus; `arpa` writes `model.arpa.gz` too, for other tools."""

    order: Count
    direction: Direction = "forward"
    case: Case = "lower"
    minimum: Count = 1
    prune: bool = False
    arpa: bool = False

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "LanguageModel":
        text = self.text(corpus)
        model = LanguageModel.from_tokens(
            text,
            order=self.order,
            direction=self.direction,
            case=self.case,
            minimum=self.minimum,
            prune=self.prune,
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return model.with_settings(side=self.side, arpa=self.arpa, **self.units(text))


@RESOURCES.register("language_model")
@dataclass(frozen=True, eq=False)
class LanguageModel(Resource):
    """An n-gram model with backoff weights, over words of one side or their stand-ins. `<unk>`: unknown words
    have what is left of the unigram distribution for them, an equal share of its interpolation mass, as in
    KenLM; each unknown word in a text is charged with that probability. `settings["smoothing"]` tells per
    order which discounts were used (see `discounts`). `source_pos_lm` and `target_pos_lm` are of
    detailed tags (`xpos`), as DFKI asks for (Popovic 2012, section 2); `source_upos_lm` and `target_upos_lm`
    of universal parts of speech ("simple" tags: WLV-SHEF, table 4); `source_morpheme_lm` and
    `target_morpheme_lm` of morphemes. They keep case.
    """

    parts: ClassVar[Parts] = {
        "source_lm": {"side": "source", "order": 3},
        "target_lm": {"side": "target", "order": 5},
        "source_lm5": {"side": "source", "order": 5},
        "source_lm_backward": {"side": "source", "order": 5, "direction": "backward"},
        "target_lm_backward": {"side": "target", "order": 5, "direction": "backward"},
        "source_pos_lm": {"side": "source", **_UNITS, "layer": "xpos", "annotation": "source_annotation"},
        "target_pos_lm": {"side": "target", **_UNITS, "layer": "xpos", "annotation": "target_annotation"},
        "source_upos_lm": {"side": "source", **_UNITS, "layer": "upos", "annotation": "source_annotation"},
        "target_upos_lm": {"side": "target", **_UNITS, "layer": "upos", "annotation": "target_annotation"},
        "source_morpheme_lm": {"side": "source", **_UNITS, "morphemes": "source_morphemes"},
        "target_morpheme_lm": {"side": "target", **_UNITS, "morphemes": "target_morphemes"},
    }
    builder: ClassVar[type[Builder]] = LanguageModelBuilder
    version: ClassVar[int] = 2
    older: ClassVar[frozenset[int]] = frozenset({1})  # plain arrays

    vocabulary: Vocabulary = field(repr=False)
    trie: Trie = field(repr=False)
    log10: Stored = field(repr=False)
    backoff: Stored = field(repr=False)

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
        _check_direction(direction)
        text = cased(tokens, case)
        vocabulary, ids = encode(text, minimum)
        if not ids.any():
            raise InputError("a language model needs text, but there are no words to learn from")
        ids, offsets = with_markers(ids, np.asarray(text.offsets), backward=direction == "backward")
        counting = ngram_tables(ids, offsets, len(vocabulary), order)
        model = estimate(list(reported(counting, progress, "counting n-grams", order)), prune)
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
        return cls(
            vocabulary,
            model.trie.compact(),
            coded(model.log10),
            coded(model.backoff),
            settings=settings,
            corpus_fingerprint=print_,
        )

    @classmethod
    def read_arpa(cls, path: Path, *, direction: Direction = "forward", case: Case = "lower") -> Self:
        """Reads an ARPA file of any tool, plain or gzip; without `<unk>`, unknown words have log10 -100.

        Raises InputError for files that are damaged, whose n-grams lack their contexts, and with values that
        are no logarithms of probabilities.
        """
        _check_direction(direction)
        arpa = read_arpa(path)
        settings = {
            "order": arpa.trie.order,
            "direction": direction,
            "case": case,
            "ngrams": list(arpa.trie.sizes),
        }
        with damage_reported("the language model", path, "write log10 of probabilities, -99 for none"):
            _check_values(arpa.log10, arpa.backoff)
            arpa.trie.check_arrays(len(arpa.vocabulary))
        return cls(
            arpa.vocabulary,
            arpa.trie.compact(),
            arpa.log10,  # what a file says is kept as it is
            arpa.backoff,
            settings=settings,
            corpus_fingerprint=sha256(path),
        )

    @classmethod
    def read_kenlm(
        cls, path: Path, *, direction: Direction = "forward", case: Case = "lower"
    ) -> "LanguageModel":
        """From a KenLM binary, for scoring only; raises InputError if kenlm cannot read it, or is absent."""
        _check_direction(direction)
        model = _open_kenlm(path)
        settings = {"order": model.order, "direction": direction, "case": case, "kenlm": True}
        return _KenlmModel(path, model, settings=settings, corpus_fingerprint=sha256(path))

    @classmethod
    def read(cls, path: Path, *, direction: Direction = "forward", case: Case = "lower") -> "LanguageModel":
        """From an ARPA file or a KenLM binary with any name; raises as `read_arpa` and `read_kenlm` do."""
        with open_binary(path) as stream:
            try:
                binary = stream.read(len(_KENLM_MAGIC)) == _KENLM_MAGIC
            except DAMAGED_GZIP as error:
                raise InputError(damage_of(error), location=path) from None
        if binary:
            return cls.read_kenlm(path, direction=direction, case=case)
        return cls.read_arpa(path, direction=direction, case=case)

    def write_arpa(self, path: Path) -> None:
        """Writes an ARPA file, gzip if the name ends in `.gz`. A backward model predicts right to left."""
        with atomic_file(path) as temporary:
            content = Arpa(self.vocabulary, self.trie.plain(), decoded(self.log10), decoded(self.backoff))
            write_arpa(temporary, content, gzipped=path.suffix == ".gz")

    def check_arrays(self) -> None:
        self.trie.check_arrays(len(self.vocabulary))
        check("log10", self.log10, np.float32, self.trie.begins[-1])
        check("backoff", self.backoff, np.float32, self.trie.begins[-2])
        _check_values(listed(self.log10), listed(self.backoff))

    @property
    def order(self) -> int:
        return self.trie.order

    def score(self, tokens: Tokens) -> LMScores:
        return self.score_orders(tokens)[-1]

    def score_orders(self, tokens: Tokens) -> tuple[LMScores, ...]:
        """Scores of a batch by the n-grams up to order 1, 2, ..., N, as `ngram -order k` of SRILM."""
        text = cased(tokens, self.settings["case"])
        backward = self.settings["direction"] == "backward"
        ids, offsets = with_markers(text.ids_in(self.vocabulary), np.asarray(text.offsets), backward=backward)
        place = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets)) + 1
        # A backward model reads the events of a text from its end, `</s>` aside.
        events = np.asarray(text.offsets, np.int64) + np.arange(len(text) + 1)
        length = np.repeat(np.asarray(text.lengths), text.lengths + 1)
        step = np.arange(events[-1]) - np.repeat(events[:-1], text.lengths + 1)
        if backward:
            step = np.where(step < length, length - 1 - step, step)
        read_at = np.repeat(offsets[:-1] + 1, text.lengths + 1) + step
        nodes, log10, matched = ids, gather(self.log10, ids).astype(np.float64), (ids > UNK).astype(np.int8)
        scores, tables = [], (readable(self.log10), readable(self.backoff))
        for order in range(1, self.order + 1):
            if order > 1:
                longer = self.trie.extend(nodes, ids, offsets)
                _back_off(longer, nodes, tables, order, log10, matched)
                nodes = longer
            possible = np.minimum(place, order)
            backoff = (possible - matched)[read_at].astype(np.int8)
            scores.append(LMScores(log10[read_at], matched[read_at], backoff, events))
        return tuple(scores)

    def log10_probability(self, tokens: Tokens, with_end: bool = True) -> FloatArray:
        """log10 probability (n,) of each text with `</s>`, or without it if `with_end` is false."""
        scores = self.score(tokens)
        if with_end:
            return segment_sum(scores.log10, scores.offsets)
        return segment_sum(scores.token_log10, np.asarray(tokens.offsets))

    def save(self, path: Path) -> None:
        super().save(path)
        if self.settings.get("arpa"):
            self.write_arpa(path / "model.arpa.gz")

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, _ = load_arrays(path)
        if not meta["settings"].get("kenlm"):
            return super().load(path)
        file = path / _KENLM_FILE
        return cast(Self, _KenlmModel(file, _open_kenlm(file), **meta))


@dataclass(frozen=True, eq=False, repr=False)
class _KenlmModel(LanguageModel):
    path: Path
    model: Any
    vocabulary: Vocabulary = field(init=False)
    trie: Trie = field(init=False)
    log10: Stored = field(init=False)
    backoff: Stored = field(init=False)

    def __getattr__(self, name: str) -> Any:
        if name in ("vocabulary", "trie", "log10", "backoff"):
            raise InputError(
                "a KenLM model can be scored with, but its n-grams are needed here",
                location=self.path,
                remedy="read its ARPA file instead",
            )
        raise AttributeError(name)

    def check_arrays(self) -> None:
        pass

    def __repr__(self) -> str:
        return f"LanguageModel.read_kenlm({str(self.path)!r})"

    @property
    def order(self) -> int:
        return int(self.model.order)

    def score_orders(self, tokens: Tokens) -> tuple[LMScores, ...]:
        text = cased(tokens, self.settings["case"])
        backward = self.settings["direction"] == "backward"
        rows: list[tuple[float, int, int]] = []
        for i in range(len(text)):
            words, of_text = text.words(i), []
            scored = self.model.full_scores(" ".join(words[::-1] if backward else words))
            for place, (log10_of_word, length, unknown) in enumerate(scored, start=2):
                order = 0 if unknown else length
                of_text.append((log10_of_word, order, min(place, self.order) - order))
            rows += [*of_text[-2::-1], of_text[-1]] if backward else of_text
        log10, matched, backoff = np.array(rows, np.float64).reshape(-1, 3).T
        offsets = np.asarray(text.offsets) + np.arange(len(text) + 1)
        return (LMScores(log10, matched.astype(np.int8), backoff.astype(np.int8), offsets),)

    def write_arpa(self, path: Path) -> None:
        raise InputError("a KenLM model cannot be listed", location=self.path, remedy="keep its ARPA file")

    def save(self, path: Path) -> None:
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        save_arrays(path, meta)
        shutil.copyfile(self.path, path / _KENLM_FILE)


def _open_kenlm(path: Path) -> Any:
    try:
        kenlm = importlib.import_module("kenlm")
    except ImportError:
        raise InputError(
            "KenLM models need the optional package kenlm", location=path, remedy=install("kenlm")
        ) from None
    try:
        return kenlm.Model(str(path))
    except (OSError, RuntimeError) as error:
        raise InputError(f"KenLM cannot read this file ({error})", location=path) from None


def _check_values(log10: NDArray[np.float32], backoff: NDArray[np.float32]) -> None:
    finite("log10", log10, _LEAST, 1)
    finite("backoff", backoff, -_MOST_BACKOFF, _MOST_BACKOFF)


def _check_direction(direction: str) -> None:
    if direction not in ("forward", "backward"):
        raise InputError(f"direction must be 'forward' or 'backward', but got {direction!r}")


@numba.njit(cache=True, nogil=True)
def _back_off(nodes: Ints, contexts: Ints, tables: Any, order: int, log10: Any, matched: Any) -> None:
    model_log10, model_backoff = tables
    for i in range(1, len(nodes)):
        if nodes[i] >= 0:
            log10[i] = read_at(model_log10, nodes[i])
            matched[i] = order
        elif contexts[i - 1] >= 0:
            log10[i] += read_at(model_backoff, contexts[i - 1])


@dataclass(frozen=True, kw_only=True)
class NumberLanguageModelBuilder(Builder):
    side: Side
    order: Count

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "NumberLanguageModel":
        made = NumberLanguageModel.from_tokens(
            plain(corpus.side(self.side)),
            order=self.order,
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return made.with_settings(**self.settings, arpa=False)


@RESOURCES.register("number_lm")
class NumberLanguageModel(LanguageModel):
    """A language model that reads each number as `$number`, in the corpus and in texts. Source: Buck 2012
    (UEdin at WMT12), section 4.1; order: section 3.3.
    """

    parts: ClassVar[Parts] = {
        "source_number_lm": {"side": "source", "order": 4},
        "target_number_lm": {"side": "target", "order": 4},
    }
    builder: ClassVar[type[Builder]] = NumberLanguageModelBuilder

    def score_orders(self, tokens: Tokens) -> tuple[LMScores, ...]:
        return super().score_orders(plain(tokens))
