"""Languages: codes (BCP 47), negators, and scripts without blanks between words."""

import difflib
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

import regex
from langcodes import Language, standardize_tag, tag_distance
from langcodes.registry_parser import parse_registry
from langcodes.tag_parser import LanguageTagError

from features.basics.errors import InputError

# Codes that dictionaries and programs use though the standard prefers others (fil, sr-Latn).
_IN_USE: Final = frozenset({"tl", "sh", "hbs"})
_TAG: Final = re.compile("[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
MULTIPLE: Final = "mul"  # several languages (ISO 639-2): of models that score any pair
_SAME: Final = 4  # of `tag_distance`, in hundredths: no and nb (1); hr and bs have 8, da and nb 12


def language_code(tag: str) -> str:
    """The code (IANA) of the language of a BCP 47 tag, without script and region.

    Raises InputError for others, with the code that was probably meant.
    """
    if not isinstance(tag, str):
        raise InputError(
            f"unknown language code {tag!r}", remedy="put it in quotes: YAML reads `no` as false"
        )
    code = re.split("[-_]", tag)[0].lower() if _TAG.fullmatch(tag) and _language(tag) else tag
    if code in _IN_USE or _language(code) == code:
        return code
    if re.fullmatch("[a-z]{3}", code) and Language.get(code, normalize=False).is_valid():
        return code
    meant = _code_of(tag.lower())
    hint = f"; did you mean '{meant}' ({_names()[meant]})?" if meant else ""
    raise InputError(
        f"unknown language code '{tag}'",
        remedy="use the one of ISO 639, with two letters where there are two, and a script or a region if "
        f"you like (en-US, zh-Hant){hint}",
    )


def is_language_tag(tag: str) -> bool:
    """Whether a tag such as `en_US`, `zh-Hant-TW`, `eng` names a language of the IANA registry."""
    return _language(tag) is not None


def speaks(tag: str, wanted: str) -> bool:
    """Whether text with a language tag is in the wanted language (with script or region if these matter).

    Codes of the same language are equal (ISO 639-1, 639-2 and 639-3, withdrawn ones, `cmn` and `zh`). A tag
    without a script has the usual one, a tag without a region fits any. Every language
    is one of several (`mul`).

    >>> speaks("en_US", "en"), speaks("eng", "en"), speaks("zh-TW", "zh-Hant"), speaks("es-MX", "es-ES")
    (True, True, True, False)
    """
    if not (is_language_tag(tag) and is_language_tag(wanted)):
        return tag == wanted
    if wanted == MULTIPLE:
        return True
    text, asked = Language.get(tag), Language.get(wanted)
    if tag_distance(str(text.language), str(asked.language)) > _SAME:
        return False
    if asked.script and text.maximize().script != asked.script:
        return False
    return not asked.territory or text.territory in (None, asked.territory)


def tag_of(text: str) -> str:
    """A language tag as it is, and the code of a language that is named in English; other text unchanged.

    >>> tag_of("en_US"), tag_of("German")
    ('en_US', 'de')
    """
    names = {name.casefold(): code for code, name in _names().items()}
    return text if is_language_tag(text) else names.get(text.casefold(), text)


def _language(tag: str) -> str | None:
    try:
        code = Language.get(standardize_tag(tag)).language
        return code if code and Language.get(code).is_valid() else None
    except (LanguageTagError, ValueError):
        return None


def _code_of(text: str) -> str | None:
    code = _language(re.split("[-_.]", text.strip())[0])
    for candidate in (code, *(used for used in sorted(_IN_USE) if _language(used) == code)):
        if candidate in _names():
            return candidate
    names = {name.lower(): code for code, name in _names().items()}
    return next((names[near] for near in difflib.get_close_matches(text, names, n=1, cutoff=0.75)), None)


@cache
def _names() -> Mapping[str, str]:
    return {
        entry["Subtag"]: entry["Description"][0]
        for entry in parse_registry()  # type: ignore[no-untyped-call]
        if entry["Type"] == "language" and len(entry["Subtag"]) == 2 and "Deprecated" not in entry
    }


# Regular expressions over lower-cased text between word boundaries.
NEGATORS: Mapping[str, str] = {
    "de": r"nicht|nichts|nie|niemals|niemand\w*|kein\w*|weder|ohne|nirgend\w*|nein|keinesfalls|keineswegs",
    "en": r"not|no|never|cannot|nobody|nothing|none|neither|nor|nowhere|without|\w+n['’]t",
    "es": r"no|nunca|jamás|nadie|nada|ningun[oa]s?|ningún|ni|tampoco|sin",
    "ro": r"nu|n|niciodată|nimeni|nimic|nici|niciun|nicio|niciunul|niciuna|fără|ba",
}


# Languages that are written without blanks (ISO 639): Chinese and its relatives, Japanese, Thai, Lao, Khmer,
# Burmese, Tibetan, Dzongkha.
WITHOUT_BLANKS: Final = frozenset(
    {"zh", "yue", "wuu", "lzh", "nan", "ja", "th", "lo", "km", "my", "bo", "dz"}
)

_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_ANY: Final = regex.compile(rf"[{_SCRIPTS}]")

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
