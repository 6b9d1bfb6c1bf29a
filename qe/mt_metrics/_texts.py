"""Texts: one column of segments, tokenized once for each way of tokenizing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from features.core.tokens import Tokens

Tokenization = Literal["none", "13a", "intl", "char", "moses"]
TOKENIZATIONS: tuple[str, ...] = get_args(Tokenization)


@dataclass(frozen=True, eq=False)
class Texts:
    """n segments; whatever is derived from them is computed once and shared between metrics.

    >>> Texts.of(["Hello, world!"]).tokens("13a").types
    ('Hello', ',', 'world', '!')
    """

    lines: tuple[str, ...]
    name: str = "text"
    _derived: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, lines: Sequence[str], name: str = "text") -> "Texts":
        """`name` (a path, say) is what error messages call it."""
        return cls(tuple(lines), name)

    def __len__(self) -> int:
        return len(self.lines)

    def forget(self) -> None:
        """Drops what was derived; it is computed again when asked for."""
        self._derived.clear()

    def tokens(self, tokenize: str, lowercase: bool = False, language: str = "en") -> Tokens:
        """Tokens by one of TOKENIZATIONS (`none`: split at white space); `language` matters to `moses`."""
        key = (tokenize, language if tokenize == "moses" else "")
        if key not in self._derived:
            self._derived[key] = _tokenized(self.lines, tokenize, language)
        tokens: Tokens = self._derived[key]
        return tokens.lower() if lowercase else tokens

    def characters(self, lowercase: bool = False, white_space: bool = False) -> "Characters":
        """Code points, without white space unless asked for."""
        key = ("characters", lowercase, white_space)
        if key not in self._derived:
            self._derived[key] = _characters(self.lines, lowercase, white_space)
        found: Characters = self._derived[key]
        return found


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
    """Tokens by one of TOKENIZATIONS.

    Raises InputError for an unknown name, with the known ones.
    """
    if name == "moses":
        from features.core.tokenizer import Tokenizer

        return Tokenizer(language, normalise=False).tokens(lines)
    split = _splitter(name)
    return Tokens.from_lists(split(line) for line in lines)


def _splitter(name: str) -> Callable[[str], list[str]]:
    """White space, or sacrebleu's own code."""
    if name == "none":
        return str.split
    if name == "13a":
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

        return _splitting(Tokenizer13a())  # type: ignore[no-untyped-call]
    if name == "intl":
        from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International

        return _splitting(TokenizerV14International())  # type: ignore[no-untyped-call]
    if name == "char":
        from sacrebleu.tokenizers.tokenizer_char import TokenizerChar

        return _splitting(TokenizerChar())  # type: ignore[no-untyped-call]
    raise InputError(f"unknown tokenization '{name}'", remedy=f"known: {', '.join(TOKENIZATIONS)}")


def _splitting(tokenize: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda line: tokenize(line.rstrip()).split()
