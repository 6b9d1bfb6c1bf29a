"""What columns mean: common headers, direction of labels, labels of two classes, language pairs of rows."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from features.basics.errors import InputError, did_you_mean
from features.text.languages import is_language_tag, speaks, tag_of

HIGHER = ("da", "da_mean", "da_score", "z_mean", "z_score", "zscore")
LOWER = ("hter", "ter")


def higher_is_better(name: str, declared: bool | None, remedy: str) -> bool:
    """The direction of a label: as declared, or by its name.

    Raises InputError, with the remedy, if neither shows it: `score` may be an error rate.
    """
    if declared is not None:
        return declared
    key = key_of(name)
    if key in HIGHER or key in LOWER:
        return key in HIGHER
    raise InputError(f"the direction of the label '{name}' is not known", remedy=remedy)


def no_column(
    name: str, headers: Iterable[str], location: object, purpose: str = "", remedy: str = ""
) -> InputError:
    has = f"it has {', '.join(headers)}{did_you_mean(name, headers)}"
    return InputError(f"no column '{name}'{purpose}", location=location, remedy=has + remedy)


def is_rate(name: str) -> bool:
    """Whether a label is an edit rate: none is below 0."""
    return key_of(name) in LOWER


def key_of(name: str) -> str:
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


def named_header(name: str, headers: Collection[str]) -> str:
    """The header of a column that features read by name; empty if there is none.

    Properties and notes of XLIFF and TMX are columns such as `prop:comet`.

    >>> named_header("comet", ["source", "prop:comet"])
    'prop:comet'
    """
    known = name, f"prop:{name}", f"prop:x-{name}", f"note:{name}"
    return next((header for header in known if header in headers), "")


PAIR = ("lp", "pair", "language_pair", "language_pairs", "lang_pair", "langpair", "langs", "languages")
_SOURCE = ("src_lang", "source_lang", "source_language", "src_language", "srclang", "sourcelang", "lang_src")
_TARGET = (
    *("tgt_lang", "trg_lang", "target_lang", "target_language", "tgt_language", "tgtlang", "trglang"),
    *("targetlang", "lang_tgt", "lang_trg"),
)
_SHOWN = 5  # pairs that a message names
Rows = Sequence[int]


def says_languages(header: str) -> bool:
    """Whether a column of this name may hold the languages of rows."""
    return key_of(header) in (*PAIR, *_SOURCE, *_TARGET)


def rows_of_pair(
    cells: Mapping[str, Sequence[str]], languages: tuple[str, str], location: object
) -> tuple[Rows | None, str]:
    """The rows of one language pair, and a sentence on the other rows (empty if there are none).

    Rows are None if no column holds pairs: `lp`, `pair`, `language_pair`, `langs`, ... with values such as
    `en-es`, `en_ES-de_DE` or `eng-deu`, or two columns such as `src_lang` and `tgt_lang`.

    >>> rows_of_pair({"lp": ["en-de", "zh-en", "EN-DE"]}, ("en", "de"), "")
    ([0, 2], '1 rows of other language pairs are left out (zh-en 1)')
    """
    named = _pairs(cells)
    if named is None:
        return None, ""

    @cache
    def fits(texts: tuple[str, ...]) -> bool:
        splits = [texts] if len(texts) == 2 else _splits("".join(texts))
        return any(all(map(speaks, map(tag_of, sides), languages)) for sides in splits)

    rows = [row for row, texts in enumerate(named) if fits(texts)]
    others = Counter("-".join(texts) or "none" for row, texts in enumerate(named) if not fits(texts))
    shown = ", ".join(f"{pair} {count:,}" for pair, count in others.most_common(_SHOWN))
    if not rows:
        raise InputError(
            f"no row has the language pair {'-'.join(languages)}; the table has {shown}",
            location=location,
            remedy="give the languages of the table; --source-language and --target-language name them",
        )
    note = f"{others.total():,} rows of other language pairs are left out ({shown})" if others else ""
    return rows, note


def _pairs(cells: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]] | None:
    keys = {key_of(name): [text.strip() for text in texts] for name, texts in cells.items()}
    for name in PAIR:
        splits = (sides for text in {*keys.get(name, ())} for sides in _splits(text))
        if any(is_language_tag(tag_of(a)) and is_language_tag(tag_of(b)) for a, b in splits):
            return [(text,) for text in keys[name]]
    source = next((keys[name] for name in _SOURCE if name in keys), None)
    target = next((keys[name] for name in _TARGET if name in keys), None)
    if source is None or target is None:
        return None
    tagged = any(is_language_tag(tag_of(text)) for text in {*source, *target})
    return list(zip(source, target, strict=True)) if tagged else None


def _splits(text: str) -> Iterator[tuple[str, str]]:
    for separator in re.finditer(r"[^A-Za-z0-9]+|(?<=[a-z])2(?=[a-z])", text):
        yield text[: separator.start()], text[separator.end() :]
    if re.fullmatch("[A-Za-z]{4}", text):
        yield text[:2], text[2:]


UNSTATED = ("score", "scores", "mean", "label", "gold", "rating", "quality", "effort", "adequacy", "mqm")
HEADERS: Mapping[str, Sequence[str]] = {
    "source": ("source", "src", "original", "source_text", "source_segment", "source_sentence"),
    "target": (
        *("target", "tgt", "translation", "mt", "hypothesis", "hyp", "mt_output", "machine_translation"),
        *("target_text", "target_segment", "target_sentence"),
    ),
    "scores": (*HIGHER, *LOWER, *UNSTATED),
    "post_edit": ("post_edit", "post_edited", "postedit", "postedited", "pe"),
    "reference": ("reference", "ref"),
    "id": ("id", "segment_id", "seg_id", "sent_id"),
    "doc_id": ("doc_id", "document_id", "document", "doc"),
}


def known_headers(role: str, headers: Sequence[str], assigned: Collection[str] = ()) -> list[str]:
    """The headers that are common for a role, without those that have another role already."""
    return [each for each in headers if key_of(each) in HEADERS.get(role, ()) and each not in assigned]


def header_of(
    role: str,
    headers: Sequence[str],
    location: object,
    *,
    assigned: Collection[str] = (),
    option: str = "--columns",
) -> str:
    candidates = known_headers(role, headers, assigned)
    if len(candidates) > 1:
        none = "" if role in ("source", "target") else f", or {option} {role}= for none"
        raise InputError(
            f"several columns could be the {role}: {', '.join(candidates)}",
            location=location,
            remedy=f"choose one: {option} {role}={candidates[0]}{none}",
        )
    return candidates[0] if candidates else ""


# (0, 1): the second is an error.
ERRORS = (
    ("not", "err"),
    ("ok", "bad"),
    ("good", "bad"),
    ("correct", "incorrect"),
    ("correct", "error"),
    ("right", "wrong"),
    ("pass", "fail"),
    ("noerror", "error"),
    ("no_error", "error"),
    ("no error", "error"),
    ("no-error", "error"),
    ("correct", "wrong"),
    ("good", "poor"),
    ("accept", "reject"),
    ("accepted", "rejected"),
    ("acceptable", "unacceptable"),
    ("adequate", "inadequate"),
    ("usable", "unusable"),
)
# (0, 1): which one is good, nobody knows.
_NUMBERS = (("0", "1"), ("0.0", "1.0"))
UNSTATED_CLASSES = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"), *_NUMBERS)

Pair = tuple[str, str]


def classes_of(texts: Iterable[str]) -> tuple[Pair, bool | None] | None:
    """The two classes of the labels, as written, and whether the second is the better one (None: unknown).

    None if most labels are of no two known classes. Numbers are classes where all of them are 0 or 1.
    """
    counted = Counter(text.strip() for text in texts if text.strip())
    written = {text.casefold(): text for text in reversed(counted)}
    for pairs, upwards in ((ERRORS, False), (UNSTATED_CLASSES, None)):
        for pair in pairs:
            of_pair = sum(number for text, number in counted.items() if text.casefold() in pair)
            enough = of_pair == counted.total() if pair in _NUMBERS else 2 * of_pair > counted.total()
            if enough and written.keys() >= {*pair}:
                return (written[pair[0]], written[pair[1]]), upwards
    return None


def unknown_pair(texts: Iterable[str]) -> Pair | None:
    """The two words that all labels consist of, if no table of classes knows them."""
    words = {text.strip().casefold(): text.strip() for text in texts if text.strip()}
    first, *others = sorted(words.values()) or [""]
    is_pair = len(others) == 1 and not any(any(c.isdigit() for c in word) for word in words)
    return (first, others[0]) if is_pair else None


def numbers_of(texts: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Labels as 0 and 1; what is of neither class stays unchanged."""
    number = {name.strip().casefold(): str(value) for value, name in enumerate(classes)}
    return [number.get(text.strip().casefold(), text) for text in texts]


def check_classes(classes: Sequence[Any], location: str) -> None:
    names = {name.strip().casefold() for name in classes if isinstance(name, str)}
    if len(classes) != 2 or len(names) != 2:
        raise InputError(
            f"two different classes are needed, but got {list(classes)}",
            location=location,
            remedy="such as [OK, BAD]: the first is 0, the second 1; put what YAML reads otherwise "
            "in quotes, such as 'true' and 'no'",
        )
