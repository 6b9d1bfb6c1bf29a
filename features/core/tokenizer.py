"""Normalisation and tokenization: text -> tokens."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

from sacremoses import MosesTokenizer

from features.core.tokens import Tokens

# Typographic marks that differ between otherwise equal texts (1.3 % of the WMT12 training sources have
# them, 28 % of the test sources).
_TYPOGRAPHIC = str.maketrans(
    {
        "‘": "'", "’": "'", "‚": "'", "‛": "'", "´": "'", "`": "'",
        "“": '"', "”": '"', "„": '"', "‟": '"',
        "–": "-", "—": "-", "―": "-", "‐": "-", "‑": "-", "−": "-",
        "…": "...",
    }
)  # fmt: skip


def normalise(text: str) -> str:
    """Straight quotes and hyphens for typographic ones; all white space reduced to single spaces.

    >>> normalise("  It’s  “so” — he said… ")
    'It\\'s "so" - he said...'
    """
    return " ".join(text.translate(_TYPOGRAPHIC).split())


@dataclass(frozen=True)
class Tokenizer:
    """Text -> tokens for one language.

    kind       `moses` (as sacremoses `MosesTokenizer(language)`, escape=False) or `whitespace`
    normalise  apply `normalise` first
    """

    language: str = "en"
    kind: Literal["moses", "whitespace"] = "moses"
    normalise: bool = True

    def split(self, text: str) -> list[str]:
        """The tokens of one text.

        >>> Tokenizer("en").split("The cat’s mat.")
        ['The', 'cat', "'s", 'mat', '.']
        """
        if self.normalise:
            text = normalise(text)
        if self.kind == "whitespace":
            return text.split()
        return list(_moses(self.language).tokenize(text, escape=False))

    def tokens(self, texts: Iterable[str]) -> Tokens:
        return Tokens.from_lists(self.split(text) for text in texts)

    def settings(self) -> dict[str, Any]:
        return asdict(self)


@lru_cache(maxsize=16)
def _moses(language: str) -> Any:
    return MosesTokenizer(language)
