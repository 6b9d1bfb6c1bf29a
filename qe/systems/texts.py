"""Texts: one column of segments, tokenized once for each way of tokenizing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import unknown_name
from features.text.tokens import Tokens
from qe.display.summary import summarised
from qe.systems.tokenizers import sacrebleu_tokenizer

T = TypeVar("T")
Tokenization = Literal[
    "none", "13a", "intl", "char", "moses", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200"
]
TOKENIZATIONS: tuple[str, ...] = get_args(Tokenization)


@summarised
@dataclass(frozen=True, eq=False)
class Texts:
    """n segments; all that is derived from them is computed once and shared between metrics.

    >>> Texts.from_lines(["Hello, world!"]).tokens("13a").types
    ('Hello', ',', 'world', '!')
    """

    lines: tuple[str, ...]
    name: str = "text"
    _derived: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_lines(cls, lines: Sequence[str], name: str = "text") -> "Texts":
        """`name` (a path, say) is what error messages call it."""
        return cls(tuple(lines), name)

    def __len__(self) -> int:
        return len(self.lines)

    def forget(self) -> None:
        """Drops what was derived; it is computed again when needed."""
        self._derived.clear()

    def tokens(self, tokenize: str, lowercase: bool = False, language: str = "en") -> Tokens:
        """Tokens by one of TOKENIZATIONS (`none`: split at white space).

        Text is lower-cased before sacrebleu's tokenizers, as sacrebleu does, and after the others.
        """
        first = lowercase and tokenize not in ("none", "moses")
        key = (tokenize, language if tokenize == "moses" else "", first)
        lines = [line.lower() for line in self.lines] if first else self.lines
        tokens = self._once(key, lambda: _tokenized(lines, tokenize, language))
        return tokens.lower() if lowercase and not first else tokens

    def tercom(self, lowercase: bool, normalized: bool, no_punct: bool, asian_support: bool) -> Tokens:
        """Tokens as tercom prepares them: with its normalisation, without punctuation, or with both."""
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

        split = _splitting(TercomTokenizer(normalized, no_punct, asian_support, not lowercase))
        key = ("tercom", lowercase, normalized, no_punct, asian_support)
        return self._once(key, lambda: Tokens.from_lists(split(line) for line in self.lines))

    def characters(self, lowercase: bool = False, white_space: bool = False) -> "Characters":
        """Code points, without white space unless requested."""
        key = ("characters", lowercase, white_space)
        return self._once(key, lambda: _characters(self.lines, lowercase, white_space))

    def _once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        value: T = self._derived[key] if key in self._derived else make()
        self._derived[key] = value
        return value


@dataclass(frozen=True, eq=False)
class Characters:
    """ids (n_characters,) int32 code points; offsets (n + 1,) as in Tokens."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]


def _characters(lines: Sequence[str], lowercase: bool, white_space: bool) -> Characters:
    texts = [line.lower() for line in lines] if lowercase else lines
    texts = texts if white_space else ["".join(line.split()) for line in texts]
    ids = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32)
    return Characters(ids, np.cumsum([0, *map(len, texts)], dtype=np.int64))


def _tokenized(lines: Sequence[str], name: str, language: str) -> Tokens:
    if name == "moses":
        from features.text.tokenizer import Tokenizer

        return Tokenizer(language, normalise=False).tokens(lines)
    split = _splitter(name)
    return Tokens.from_lists(split(line) for line in lines)


def tokenizer_signature(name: str, language: str) -> str:
    if name == "moses":
        return f"moses-{language}"
    return name if name == "none" else str(sacrebleu_tokenizer(name).signature())


def _splitter(name: str) -> Callable[[str], list[str]]:
    if name == "none":
        return str.split
    if name not in TOKENIZATIONS:
        raise unknown_name("tokenization", name, TOKENIZATIONS)
    return _splitting(sacrebleu_tokenizer(name))


def _splitting(tokenize: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda line: tokenize(line.rstrip()).split()
