"""Normalisation, segmentation and tokenization: text -> tokens."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Literal, TypeVar, get_args

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, unknown_name
from features.text._moses import ChunkTokenizer, moses_2012_rules, moses_rules
from features.text.languages import language_code
from features.text.scripts import characters, without_blanks
from features.text.tokens import Tokens, TokensBuilder


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
