"""Normalisation, segmentation and tokenization: text -> tokens."""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of, rows_of
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, unknown_name
from features.text.languages import characters, language_code, without_blanks
from features.text.tokens import Tokens, TokensBuilder

# What follows a chunk decides whether its final full stop stays: another token, one that begins with a
# lower-case letter, one that begins with an ASCII digit, or nothing.
OTHER, LOWER, DIGIT, END = range(4)
_NEUTRAL = "|"  # always a token of its own, and neither lower-case nor a digit
_FOLLOWER = {OTHER: " |", LOWER: " a", DIGIT: " 0", END: ""}

Substitution = tuple[re.Pattern[str], str]


@dataclass(frozen=True)
class MosesRules:
    """Rules of one language: substitutions in order, full stops, then the line's end."""

    pad: bool
    opening: tuple[Substitution, ...]
    multidots: Callable[[str], str]
    restore: Callable[[str], str]
    commas: tuple[Substitution, ...]
    quotes: tuple[Substitution, ...]
    ending: tuple[Substitution, ...]
    word: re.Pattern[str]
    alpha: frozenset[str]
    lower: frozenset[str]
    prefixes: frozenset[str]
    numeric_prefixes: frozenset[str]

    def line(self, text: str) -> list[str]:
        """The tokens of a line without control characters, its white space blanks, none at the ends."""
        if self.pad:
            text = f" {text} "
        text = _apply(self.opening, text)
        dots = ".." in text or "MULTI" in text
        if dots:
            text = self.multidots(text)
        if "," in text:
            text = _apply(self.commas, text)
        if "'" in text:
            text = _apply(self.quotes, text)
        tokens = self._full_stops(text.split())
        if "'" in text:
            tokens = _apply(self.ending, " ".join(tokens)).split()
        return [self.restore(token) for token in tokens] if dots else tokens

    def _full_stops(self, tokens: list[str]) -> list[str]:
        result: list[str] = []
        last = len(tokens) - 1
        for i, token in enumerate(tokens):
            following = tokens[i + 1] if i < last else ""
            if token[-1] == "." and len(token) > 1 and not self._keeps_stop(token[:-1], following):
                result += (token[:-1], ".")
            else:
                result.append(token)
        return result

    def _keeps_stop(self, prefix: str, following: str) -> bool:
        if "." in prefix and not self.alpha.isdisjoint(prefix):
            return True
        if prefix in self.prefixes or (following and following[0] in self.lower):
            return True
        return prefix in self.numeric_prefixes and following[:1] in tuple("0123456789")

    def chunk(self, chunk: str, first: bool, following: int) -> tuple[str, ...]:
        """The tokens of a chunk between blanks; `following` is OTHER, LOWER, DIGIT or END."""
        if self.word.fullmatch(chunk) and "MULTI" not in chunk:  # a mark of `multidots`
            return (chunk,)
        left = "" if first else _NEUTRAL + " "
        tokens = self.line(left + chunk + _FOLLOWER[following])
        return tuple(tokens[not first : len(tokens) - (following != END)])


def _apply(substitutions: tuple[Substitution, ...], text: str) -> str:
    for pattern, replacement in substitutions:
        text = pattern.sub(replacement, text)
    return text


@lru_cache(maxsize=16)
def moses_rules(language: str) -> MosesRules:
    """The rules of sacremoses `MosesTokenizer(language).tokenize(text, escape=False)`."""
    from sacremoses import MosesTokenizer  # half a second, paid by those who tokenize

    moses: Any = MosesTokenizer(language)
    if language == "en":
        quotes = moses.ENGLISH_SPECIFIC_APOSTROPHE
    elif language in ("fr", "it"):
        quotes = moses.FR_IT_SPECIFIC_APOSTROPHE
    else:
        quotes = [moses.NON_SPECIFIC_APOSTROPHE]
    return MosesRules(
        pad=False,
        opening=(moses.PAD_NOT_ISALNUM,),
        multidots=moses.replace_multidots,
        restore=moses.restore_multidots,
        commas=(moses.COMMA_SEPARATE_1, moses.COMMA_SEPARATE_2, moses.COMMA_SEPARATE_3),
        quotes=tuple(quotes),
        ending=(moses.TRAILING_DOT_APOSTROPHE,),
        word=re.compile(f"[{moses.IsAlnum}]+"),
        alpha=frozenset(moses.IsAlpha),
        lower=frozenset(moses.IsLower),
        prefixes=frozenset(moses.NONBREAKING_PREFIXES) - frozenset(moses.NUMERIC_ONLY_PREFIXES),
        numeric_prefixes=frozenset(moses.NUMERIC_ONLY_PREFIXES),
    )


# Month names came to the English list of abbreviations after 2012.
_MONTHS = frozenset(["Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec"])


@lru_cache(maxsize=16)
def moses_2012_rules(language: str) -> MosesRules:
    """The rules of `tokenizer.perl` as the organisers of WMT 2012 ran it."""
    from sacremoses.corpus import Perluniprops

    today = moses_rules(language)
    prefixes = moses_rules("en") if language == "es" else today
    number, capital = ("".join(Perluniprops().chars(name)) for name in ("IsN", "IsUpper"))
    commas = (rf"([^{number}]),([^{number}])", rf"([{number}]),([^{number}])", rf"([^{number}]),([{number}])")
    return replace(
        today,
        pad=True,
        opening=(
            *today.opening,
            (re.compile("''"), ' " '),
            (re.compile(rf"-([{capital}])"), r" - \1"),
            (re.compile(rf"-([^{number}\s-])"), r"- \1"),
        ),
        commas=tuple((re.compile(pattern), r"\1 , \2") for pattern in commas),
        ending=(),
        prefixes=prefixes.prefixes - _MONTHS,
        numeric_prefixes=prefixes.numeric_prefixes - _MONTHS,
    )


_VARIANTS = 8  # first or not (2) x what follows (4)
_MEMO = 1 << 16  # chunks remembered, about 12 MB: all words of a text that are not rare

Longs = NDArray[np.int64]


@dataclass(eq=False)
class ChunkTokenizer:
    """Moses tokens of whole batches, equal to `split` of every line.

    Every rule looks at one chunk and the blanks around it, some also at its place in the line, so that a
    chunk has at most 8 variants. An apostrophe or comma that ends a chunk before one that begins with the
    same, and a chunk of control characters only, are left to `split`.
    """

    rules: MosesRules
    clean: dict[int, str | None]  # str.translate table applied to every chunk; never gives blanks
    _memo: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._classes = np.full(0x110000, OTHER, np.uint8)  # what follows, by the first character
        self._classes[[ord(c) for c in self.rules.lower]] = LOWER
        self._classes[ord("0") : ord("9") + 1] = DIGIT

    def split(self, text: str) -> list[str]:
        # Two blanks stay where only control characters stood between them: the rules can tell.
        return self.rules.line(" ".join(text.split()).translate(self.clean).strip())

    def tokens(self, texts: Sequence[str]) -> tuple[list[str], NDArray[np.int32], Longs]:
        """Types (some twice), ids and offsets of the tokens of a batch."""
        from features.basics.distinct import intern_chunks  # numba: paid by those who tokenize

        raw, chunks, offsets = intern_chunks(texts)
        clean = "\n".join(raw).translate(self.clean).split("\n")
        codes, odd = self._codes(clean, chunks, offsets)
        codes, offsets = _replace_lines(codes, offsets, odd, len(clean) * _VARIANTS)
        used = np.flatnonzero(np.bincount(codes, minlength=1))
        known = used[: np.searchsorted(used, len(clean) * _VARIANTS)]
        pairs = zip((known // _VARIANTS).tolist(), (known % _VARIANTS).tolist(), strict=True)
        expansions = [self._resolve(clean[i], variant) for i, variant in pairs]
        expansions += [tuple(self.split(texts[i])) for i in odd.tolist()]
        row = np.zeros(used[-1] + 1 if len(used) else 1, np.int64)
        row[used] = np.arange(len(used))
        rows = row[codes]
        counts = np.fromiter(map(len, expansions), np.int64, len(expansions))
        ends, places = rows_of(offsets_of(counts), rows)
        return list(chain.from_iterable(expansions)), places.astype(np.int32), ends[offsets]

    def _codes(self, clean: list[str], chunks: Longs, offsets: Longs) -> tuple[Longs, Longs]:
        first = np.fromiter([ord(c[0]) if c else 0 for c in clean], np.int64, len(clean))
        last = np.fromiter([ord(c[-1]) if c else 0 for c in clean], np.int64, len(clean))
        full = np.flatnonzero(np.diff(offsets))
        is_first = np.zeros(len(chunks), bool)
        is_first[offsets[full]] = True
        following = np.full(len(chunks), OTHER, np.int64)
        following[:-1] = self._classes[first][chunks[1:]]
        following[offsets[full + 1] - 1] = END
        quote, comma, stop = map(ord, "',.")
        variant = 4 * (is_first & ((first == quote) | (first == comma))[chunks])
        variant += following * ((last == quote) | (last == stop))[chunks]
        strange = (first == 0)[chunks]
        for sign in (quote, comma):
            strange[:-1] |= (last == sign)[chunks[:-1]] & (first == sign)[chunks[1:]] & ~is_first[1:]
        odd = np.searchsorted(offsets, np.flatnonzero(strange), side="right") - 1
        return chunks * _VARIANTS + variant, np.unique(odd)

    def _resolve(self, chunk: str, variant: int) -> tuple[str, ...]:
        pieces = self._memo.get((chunk, variant))
        if pieces is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            pieces = self.rules.chunk(chunk, variant >= 4, variant % 4)
            self._memo[chunk, variant] = pieces
        return pieces


def _replace_lines(codes: Longs, offsets: Longs, odd: Longs, base: int) -> tuple[Longs, Longs]:
    if not len(odd):
        return codes, offsets
    lengths = np.diff(offsets)
    keep = np.ones(len(codes), bool)
    for i in odd.tolist():
        keep[offsets[i] + 1 : offsets[i + 1]] = False
    codes[offsets[odd]] = base + np.arange(len(odd))
    lengths[odd] = 1
    return codes[keep], offsets_of(lengths)


class Segmenter(ABC):
    """A program that splits text of `languages` into words, and the `package` that pip installs."""

    package: ClassVar[str]
    languages: ClassVar[tuple[str, ...]]

    @abstractmethod
    def words(self, text: str) -> list[str]:
        """The words of a text; raises ModuleNotFoundError if the package is missing."""


SEGMENTERS: Catalogue[Segmenter] = Catalogue("features.text.segmenters", Segmenter, "segmenter")


_SMALL = 16  # fewer texts are faster one by one
_BATCH = 16384  # texts at a time, so that memory stays small beside the ids

Kind = Literal["moses", "moses-2012", "whitespace"]
T = TypeVar("T")

# Typographic marks that differ between otherwise equal texts (1.3 % of the WMT12 training sources have
# them, 28 % of the test sources).
_TYPOGRAPHIC: dict[int, str | None] = {
    ord(mark): plain
    for mark, plain in {
        "‘": "'", "’": "'", "‚": "'", "‛": "'", "´": "'", "`": "'",
        "“": '"', "”": '"', "„": '"', "‟": '"',
        "–": "-", "—": "-", "―": "-", "‐": "-", "‑": "-", "−": "-",
        "…": "...",
    }.items()
}  # fmt: skip


# Moses removes control characters that are not white space.
_CONTROL: dict[int, str | None] = {i: None for i in range(32) if not chr(i).isspace()}
_BACKTICK: dict[int, str | None] = {ord("`"): "'"}


def normalise(text: str) -> str:
    """Straight quotes and hyphens for typographic ones; white space as single spaces.

    >>> normalise("  It’s  “so” — he said… ")
    'It\\'s "so" - he said...'
    """
    return " ".join(text.translate(_TYPOGRAPHIC).split())


def composed(text: str) -> str:
    """Letters with accents as one character each (Unicode NFC), so that equal texts are equal.

    >>> len("an\u0303o"), len(composed("an\u0303o"))
    (4, 3)
    """
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


@dataclass(frozen=True)
class Tokenizer:
    """Text -> tokens for one language.

    Parameters
    ----------
    language : str, default='en'
        A tag (BCP 47), kept as the code of `features.text.languages.language_code`; else InputError.
    kind : str, default='moses'
        `moses` (as sacremoses `MosesTokenizer(language)`, escape=False), `moses-2012` (as the organisers
        of the WMT 2012 task tokenized: for features comparable with theirs) or `whitespace`.
    normalise : bool, default=True
        Apply `normalise` first.
    segmenter : str, default=''
        What splits a language without blanks (zh, ja, th, ...) into words, such as `jieba`; by default
        its tokens are characters. `whitespace` splits at whitespace in any language.
    """

    language: str = "en"
    kind: Kind = "moses"
    normalise: bool = True
    segmenter: str = ""

    def __post_init__(self) -> None:
        # Another code would silently get the rules of no language.
        object.__setattr__(self, "language", language_code(self.language))
        if self.segmenter and self.language not in (known := SEGMENTERS.get(self.segmenter).languages):
            raise InputError(
                f"the segmenter '{self.segmenter}' splits {' and '.join(known)}, not {self.language}"
            )
        if self.kind not in get_args(Kind):
            raise unknown_name("tokenizer", self.kind, get_args(Kind))

    def split(self, text: str) -> list[str]:
        """The tokens of one text."""
        text = composed(text)
        if self._by_chunks:
            return self._chunks.split(text)
        if self.normalise:
            text = normalise(text)
        if self.kind == "whitespace":
            return text.split()
        return self._segmenter.words(text) if self.segmenter else characters(text)

    def tokens(self, texts: Iterable[str]) -> Tokens:
        """The tokens of many texts: `split` of each, but several times faster."""
        if not self._by_chunks:
            return Tokens.from_lists(self.split(text) for text in texts)
        builder = TokensBuilder()
        for batch in batches(map(composed, texts), _BATCH):
            if len(batch) < _SMALL:
                builder.add(Tokens.from_lists(map(self._chunks.split, batch)))
                continue
            builder.add_arrays(*self._chunks.tokens(batch))
        return builder.tokens()

    @property
    def _by_chunks(self) -> bool:
        return self.kind != "whitespace" and not without_blanks(self.language)

    @cached_property
    def _segmenter(self) -> Segmenter:
        return SEGMENTERS.get(self.segmenter)()

    @cached_property
    def _chunks(self) -> ChunkTokenizer:
        clean = (_TYPOGRAPHIC if self.normalise else {}) | _CONTROL
        if self.kind == "moses-2012":
            return ChunkTokenizer(moses_2012_rules(self.language), clean | _BACKTICK)
        return ChunkTokenizer(moses_rules(self.language), clean)

    def settings(self) -> dict[str, Any]:
        return asdict(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.settings()  # what was remembered while tokenizing stays here


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of up to `size` items, in order.

    >>> list(batches("abc", 2))
    [['a', 'b'], ['c']]
    """
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
