"""Scripts without blanks between words. Their tokens are characters, or words by a segmenter."""

from typing import Final

import regex

# Languages that are written without blanks (ISO 639): Chinese and its relatives, Japanese, Thai, Lao, Khmer,
# Burmese, Tibetan, Dzongkha.
WITHOUT_BLANKS: Final = frozenset(
    {"zh", "yue", "wuu", "lzh", "nan", "ja", "th", "lo", "km", "my", "bo", "dz"}
)

_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_ANY: Final = regex.compile(rf"[{_SCRIPTS}]")
_CHARACTER: Final = regex.compile(r"\X")
# A character of such a script with its marks; a word or number of another; any other sign.
_TOKEN: Final = regex.compile(
    rf"(?=[{_SCRIPTS}])\X|(?:(?![{_SCRIPTS}])[\p{{L}}\p{{N}}]\p{{M}}*)+(?:[.,'’-](?:(?![{_SCRIPTS}])[\p{{L}}\p{{N}}]\p{{M}}*)+)*|\S"
)


def without_blanks(language: str) -> bool:
    """Whether texts of a language have no blanks between words.

    >>> without_blanks("zh"), without_blanks("ko")
    (True, False)
    """
    return language in WITHOUT_BLANKS


def graphemes(text: str) -> list[str]:
    return [str(character) for character in _CHARACTER.findall(text)]


def characters(text: str) -> list[str]:
    """Every character of a script without blanks, and the words, numbers and signs between them.

    >>> characters("他用Python 3.5写的。OK?")
    ['他', '用', 'Python', '3.5', '写', '的', '。', 'OK', '?']
    """
    return [str(token) for token in _TOKEN.findall(text)]


def seems_without_blanks(texts: list[str]) -> bool:
    """Whether most of a text's letters are of such scripts, and blanks between them are rare."""
    joined = " ".join(texts)
    letters = len(_ANY.findall(joined))
    return letters > 0.5 * sum(map(str.isalpha, joined)) and len(joined.split()) < 0.3 * letters + len(texts)
