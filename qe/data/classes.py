"""Labels of two classes: common names, and which class is worse."""

from collections import Counter
from collections.abc import Iterable, Sequence

from features.basics.errors import InputError

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
UNSTATED = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"), *_NUMBERS)

Pair = tuple[str, str]


def classes_of(texts: Iterable[str]) -> tuple[Pair, bool | None] | None:
    """The two classes of the labels, as written, and whether the second is the better one (None: unknown).

    None if most labels are of no two known classes. Numbers are classes where all of them are 0 or 1.
    """
    counted = Counter(text.strip() for text in texts if text.strip())
    written = {text.casefold(): text for text in reversed(counted)}
    for pairs, upwards in ((ERRORS, False), (UNSTATED, None)):
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


def check_classes(classes: Sequence[str], location: str) -> None:
    if len(classes) != 2 or len({name.strip().casefold() for name in classes}) != 2:
        raise InputError(
            f"two different classes are needed, but got {list(classes)}",
            location=location,
            remedy="such as [OK, BAD]: the first is 0, the second 1",
        )
