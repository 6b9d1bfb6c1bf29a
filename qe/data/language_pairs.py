"""Tables of several language pairs: columns with the pair of each row, and the rows of one pair."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from features.basics.errors import InputError
from features.text.languages import is_language_tag, speaks, tag_of
from qe.data.directions import key_of

PAIR = ("lp", "pair", "language_pair", "language_pairs", "lang_pair", "langpair", "langs", "languages")
SIDES = (
    *("src_lang", "source_lang", "source_language", "src_language", "srclang", "sourcelang", "lang_src"),
    *("tgt_lang", "trg_lang", "target_lang", "target_language", "tgt_language", "tgtlang", "trglang"),
    *("targetlang", "lang_tgt", "lang_trg"),
)
_SHOWN = 5  # pairs that a message names
Rows = Sequence[int]


def says_languages(header: str) -> bool:
    """Whether a column of this name may hold the languages of rows.

    >>> says_languages("Src-Lang"), says_languages("source")
    (True, False)
    """
    return key_of(header) in (*PAIR, *SIDES)


def rows_of_pair(
    cells: Mapping[str, Sequence[str]], languages: tuple[str, str], location: object
) -> tuple[Rows | None, str]:
    """The rows of one language pair, and a sentence on the other rows (empty if there are none).

    Rows are None if no column holds pairs: `lp`, `pair`, `language_pair`, `langs`, ... with values such as
    `en-es`, `en_ES-de_DE` or `eng-deu`, or two columns such as `src_lang` and `tgt_lang`.

    >>> rows_of_pair({"lp": ["en-de", "zh-en", "EN-DE"]}, ("en", "de"), "")
    ([0, 2], '1 rows of other language pairs are left out (zh-en 1)')

    Raises InputError if the table has no row of the pair.
    """
    named = _pairs(cells)
    if named is None:
        return None, ""
    fits = _checker(languages)
    rows = [row for row, texts in enumerate(named) if fits(texts)]
    others = Counter("-".join(texts) or "none" for row, texts in enumerate(named) if not fits(texts))
    shown = ", ".join(f"{pair} {count:,}" for pair, count in others.most_common(_SHOWN))
    if not rows:
        raise InputError(
            f"no row has the language pair {'-'.join(languages)}; the table has {shown}",
            location=location,
            remedy="name the languages of the table (--source-language, --target-language)",
        )
    note = f"{others.total():,} rows of other language pairs are left out ({shown})" if others else ""
    return rows, note


def _checker(languages: tuple[str, str]) -> Callable[[tuple[str, ...]], bool]:
    @cache
    def fits(texts: tuple[str, ...]) -> bool:
        splits = [texts] if len(texts) == 2 else _splits("".join(texts))
        return any(all(map(speaks, map(tag_of, sides), languages)) for sides in splits)

    return fits


def _pairs(cells: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]] | None:
    keys = {key_of(name): [text.strip() for text in texts] for name, texts in cells.items()}
    for name in PAIR:
        if any(_is_pair(text) for text in {*keys.get(name, ())}):
            return [(text,) for text in keys[name]]
    source = next((keys[name] for name in SIDES if name in keys and _is_source(name)), None)
    target = next((keys[name] for name in SIDES if name in keys and not _is_source(name)), None)
    if (
        source is None
        or target is None
        or not any(is_language_tag(tag_of(text)) for text in {*source, *target})
    ):
        return None
    return list(zip(source, target, strict=True))


def _is_source(name: str) -> bool:
    return "src" in name or "source" in name


def _is_pair(text: str) -> bool:
    return any(is_language_tag(tag_of(a)) and is_language_tag(tag_of(b)) for a, b in _splits(text))


def _splits(text: str) -> Iterator[tuple[str, str]]:
    for separator in re.finditer(r"[^A-Za-z0-9]+|(?<=[a-z])2(?=[a-z])", text):
        yield text[: separator.start()], text[separator.end() :]
    if re.fullmatch("[A-Za-z]{4}", text):
        yield text[:2], text[2:]
