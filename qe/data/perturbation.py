"""Perturbations: changes of a translation whose effect on quality is known."""

import random
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import regex
from numpy.typing import NDArray

from features.basics.errors import known_name
from features.core.segments import Segments
from features.storage.files import digest
from features.text.languages import NEGATORS

Effect = Literal["destroying", "wrong in one place", "harmless", "reported"]
EFFECTS: tuple[Effect, ...] = ("destroying", "wrong in one place", "harmless", "reported")

# Scripts that put no blanks between words: their units are grapheme clusters.
_NO_BLANKS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


@dataclass(frozen=True)
class Texts:
    """Source and target texts, row by row, with their languages (codes such as `en`)."""

    source: Sequence[str]
    target: Sequence[str]
    source_language: str
    target_language: str

    @cached_property
    def target_words(self) -> tuple[str, ...]:
        return tuple(sorted({word for text in self.target for word in words(text)}))


Change = Callable[[Texts, int, random.Random], str | None]


@dataclass(frozen=True)
class Perturbation:
    """A change of the translation of one row.

    effect  on quality; `reported` if opinions differ
    target  (texts, row, draw) -> the changed translation; None if there is nothing to change
    swaps   whether the source becomes the translation
    """

    effect: Effect
    target: Change
    swaps: bool = False


PERTURBATIONS: dict[str, Perturbation] = {}


def perturbation(effect: Effect, *, swaps: bool = False) -> Callable[[Change], Change]:
    """Adds the function below it to the perturbations, under its name."""

    def register(change: Change) -> Change:
        PERTURBATIONS[change.__name__] = Perturbation(effect, change, swaps)
        return change

    return register


def perturbation_of(name: str) -> Perturbation:
    return PERTURBATIONS[known_name("perturbation", name, names())]


def names(effect: Effect | None = None) -> tuple[str, ...]:
    return tuple(sorted(name for name, kind in PERTURBATIONS.items() if effect in (None, kind.effect)))


def perturbed(
    segments: Segments, name: str, seed: int = 0, rows: Sequence[int] | None = None
) -> tuple[Segments, NDArray[np.int64]]:
    """The segments that the perturbation changes, and their row numbers in `segments`.

    >>> segments = Segments(("a b .", "c"), ("x y .", "z"))
    >>> changed, rows = perturbed(segments, "three_times")
    >>> changed.target, rows.tolist()
    (('x y . x y . x y .', 'z z z'), [0, 1])
    """
    kind = perturbation_of(name)
    languages = segments.source_tokenizer.language, segments.target_tokenizer.language
    texts = Texts(segments.source, segments.target, *languages)
    chosen = range(len(segments)) if rows is None else rows
    seeds = {row: digest(name, seed, texts.source[row], texts.target[row]) for row in chosen}
    changed = {row: kind.target(texts, row, random.Random(seeds[row])) for row in chosen}
    kept = [row for row, text in changed.items() if text is not None and text != texts.target[row]]
    sources = tuple((texts.target if kind.swaps else texts.source)[row] for row in kept)
    targets = tuple(str(changed[row]) for row in kept)
    # `replace` drops the tokens of the unchanged texts.
    taken = replace(segments.take(kept), source=sources, target=targets)
    return taken, np.array(kept, np.int64)


def words(text: str) -> list[str]:
    """Units that perturbations drop, shuffle and replace: words; characters in scripts without spaces.

    >>> words("a good one"), words("好的")
    (['a', 'good', 'one'], ['好', '的'])
    """
    split = text.split()
    return regex.findall(r"\X", text) if _without_blanks(text, split) else split


def joined(units: Sequence[str], text: str) -> str:
    return ("" if _without_blanks(text, text.split()) else " ").join(units)


def _without_blanks(text: str, split: Sequence[str]) -> bool:
    return len(split) <= 1 + len(text) // 20 and _NO_BLANKS.search(text) is not None


_EMOJI = "👍😀🎉❤🙂🔥😂🙏"
# Sentences written for this file, by language.
_SENTENCES = {
    "cs": "Vlak do hlavního města odjíždí každý den brzy ráno z druhého nástupiště.",
    "de": "Die Straße am Fluss war nach dem langen Regen noch immer gesperrt.",
    "en": "The street along the river was still closed after the long rain.",
    "es": "La calle junto al río seguía cerrada después de la larga lluvia.",
    "fi": "Joen varrella kulkeva katu oli pitkän sateen jälkeen yhä suljettu.",
    "fr": "La rue qui longe la rivière était encore fermée après la longue pluie.",
    "hu": "A folyó melletti utca a hosszú eső után még mindig le volt zárva.",
    "it": "La strada lungo il fiume era ancora chiusa dopo la lunga pioggia.",
    "nl": "De straat langs de rivier was na de lange regen nog steeds afgesloten.",
    "pl": "Ulica wzdłuż rzeki była po długim deszczu wciąż zamknięta.",
    "ru": "Улица вдоль реки после долгого дождя всё ещё была закрыта.",
    "sw": "Barabara iliyo kando ya mto bado ilikuwa imefungwa baada ya mvua ndefu.",
    "tr": "Nehir boyunca uzanan cadde uzun yağmurdan sonra hâlâ kapalıydı.",
}
_PAIRS = (("utf-8", "cp1252"), ("utf-8", "cp1251"), ("utf-8", "cp437"), ("utf-16-le", "cp1252"))
_NAME = regex.compile(r"(?<=[\p{Ll}\p{N},;] )\p{Lu}[\p{L}\p{M}'’-]+")
_NAMES = ("Margaret", "Tokio", "Hoffmann", "Lagos", "Nakamura", "Oslo", "Fernández", "Quebec")
_NOUNS = ("de", "lb")  # languages that write every noun with a capital
_TRIES = 20


@perturbation("destroying")
def copy_of_source(texts: Texts, row: int, draw: random.Random) -> str | None:
    """The source as the translation: output of a system that translates nothing."""
    return texts.source[row]


@perturbation("destroying")
def digits_only(texts: Texts, row: int, draw: random.Random) -> str | None:
    """One number of up to four digits for each word of the translation."""
    return " ".join(str(draw.randrange(10_000)) for _ in words(texts.target[row]))


@perturbation("destroying")
def emoji_only(texts: Texts, row: int, draw: random.Random) -> str | None:
    """One emoji for each word of the translation; half of the rows repeat one throughout."""
    known = draw.choice(_EMOJI) if draw.random() < 0.5 else _EMOJI
    return "".join(draw.choice(known) for _ in words(texts.target[row]))


@perturbation("destroying")
def foreign(texts: Texts, row: int, draw: random.Random) -> str | None:
    """A sentence that is in neither of the two languages."""
    own = (texts.source_language, texts.target_language)
    return draw.choice([text for code, text in _SENTENCES.items() if code not in own])


@perturbation("destroying")
def half_dropped(texts: Texts, row: int, draw: random.Random) -> str | None:
    """Words drawn at random are gone; the others keep their order."""
    units = words(texts.target[row])
    kept = sorted(draw.sample(range(len(units)), (len(units) + 1) // 2))
    return joined([units[i] for i in kept], texts.target[row]) if len(units) > 1 else None


@perturbation("destroying")
def marks_appended(texts: Texts, row: int, draw: random.Random) -> str | None:
    """20 to 80 times the same mark, with or without blanks between."""
    mark = draw.choice((".", "!", "?", ",", "-", " .", " !", " ?", " ,"))
    return texts.target[row] + mark * draw.randint(20, 80)


@perturbation("destroying")
def mojibake(texts: Texts, row: int, draw: random.Random) -> str | None:
    """UTF-8 or UTF-16 read as a one-byte encoding: `aÃ±o` for `año`; only UTF-16 changes pure ASCII."""
    text = texts.target[row]
    pairs = [_PAIRS[-1]] if text.isascii() else _PAIRS
    right, wrong = draw.choice(pairs)
    broken = text.encode(right, "surrogatepass").decode(wrong, "replace")
    return broken.replace("\x00", "\N{REPLACEMENT CHARACTER}")


@perturbation("destroying")
def one_word_repeated(texts: Texts, row: int, draw: random.Random) -> str | None:
    """A word drawn from all translations, as often as the translation has words."""
    units = words(texts.target[row])
    return joined([draw.choice(texts.target_words)] * max(len(units), 3), texts.target[row])


@perturbation("destroying")
def other_segment(texts: Texts, row: int, draw: random.Random) -> str | None:
    """A translation of about the same length, drawn from the other rows."""
    size = len(words(texts.target[row]))
    drawn = [draw.choice(texts.target) for _ in range(_TRIES)]
    different = [text for text in drawn if text != texts.target[row]]
    return min(different, key=lambda text: abs(len(words(text)) - size)) if different else None


@perturbation("destroying")
def punctuation_only(texts: Texts, row: int, draw: random.Random) -> str | None:
    """One mark for each word of the translation, such as `. , ! - .`."""
    return " ".join(draw.choice(".,;:!?-") for _ in words(texts.target[row]))


@perturbation("destroying")
def shuffled(texts: Texts, row: int, draw: random.Random) -> str | None:
    """All words in a random order; rows of fewer than three words stay."""
    units = words(texts.target[row])
    draw.shuffle(units)
    return joined(units, texts.target[row]) if len(units) > 2 else None


@perturbation("destroying", swaps=True)
def swapped(texts: Texts, row: int, draw: random.Random) -> str | None:
    """Source and translation are exchanged."""
    return texts.source[row]


@perturbation("destroying")
def tail_repeated(texts: Texts, row: int, draw: random.Random) -> str | None:
    """The last five words are repeated ten times, as by a decoder that loops."""
    units = words(texts.target[row])
    return joined(units + units[-5:] * 10, texts.target[row])


@perturbation("destroying")
def third_replaced(texts: Texts, row: int, draw: random.Random) -> str | None:
    """Words drawn at random become words drawn from all translations."""
    units = words(texts.target[row])
    for i in draw.sample(range(len(units)), -(-len(units) // 3)):
        units[i] = draw.choice(texts.target_words)
    return joined(units, texts.target[row])


@perturbation("destroying")
def three_times(texts: Texts, row: int, draw: random.Random) -> str | None:
    """The whole translation, repeated twice behind itself."""
    return " ".join([texts.target[row]] * 3)


@perturbation("wrong in one place")
def name_replaced(texts: Texts, row: int, draw: random.Random) -> str | None:
    """One capitalised word within the sentence becomes another name; German stays as it is."""
    text = texts.target[row]
    found = [] if texts.target_language in _NOUNS else list(_NAME.finditer(text))
    if not found:
        return None
    match = draw.choice(found)
    name = draw.choice([name for name in _NAMES if name != match.group()])
    return text[: match.start()] + name + text[match.end() :]


@perturbation("wrong in one place")
def negation_dropped(texts: Texts, row: int, draw: random.Random) -> str | None:
    """One negator of the translation is left out; languages without a list of negators stay."""
    pattern = NEGATORS.get(texts.target_language)
    text = texts.target[row]
    if pattern is None:
        return None
    found = list(regex.finditer(rf"(?i)(?<![\w'’])(?:{pattern})(?!\w|['’]\w)\s*", text))
    if not found:
        return None
    match = draw.choice(found)
    return (text[: match.start()] + text[match.end() :]).strip()


@perturbation("wrong in one place")
def number_changed(texts: Texts, row: int, draw: random.Random) -> str | None:
    """One digit of the translation becomes another one."""
    text = texts.target[row]
    digits = [match.start() for match in regex.finditer("[0-9]", text)]
    if not digits:
        return None
    at = draw.choice(digits)
    other = str((int(text[at]) + draw.randint(1, 9)) % 10)
    return text[:at] + other + text[at + 1 :]


@perturbation("harmless")
def space_before_stop(texts: Texts, row: int, draw: random.Random) -> str | None:
    """`word .` for `word.`; a stop that stands apart is not joined to its word, another token."""
    text = texts.target[row].rstrip()
    if not text.endswith(".") or text.endswith(".."):
        return None
    return f"{text[:-1]} ."


@perturbation("harmless")
def trailing_blank(texts: Texts, row: int, draw: random.Random) -> str | None:
    """One blank more at the end."""
    return texts.target[row] + " "


@perturbation("harmless")
def typographic_quotes(texts: Texts, row: int, draw: random.Random) -> str | None:
    """Straight quotes and apostrophes become “these” and ’; the meaning stays."""
    opened: str = regex.sub(r'(?<!\S)"', "“", texts.target[row])
    return opened.replace('"', "”").replace("'", "’")


@perturbation("harmless")
def unicode_nfd(texts: Texts, row: int, draw: random.Random) -> str | None:
    """Letters and their accents as separate characters (NFD); it looks the same."""
    return unicodedata.normalize("NFD", texts.target[row])


@perturbation("reported")
def html_tags(texts: Texts, row: int, draw: random.Random) -> str | None:
    """Every fifth word, drawn at random, stands between `<b>` and `</b>`."""
    units = texts.target[row].split()
    for i in draw.sample(range(len(units)), -(-len(units) // 5)):
        units[i] = f"<b>{units[i]}</b>"
    return " ".join(units)


@perturbation("reported")
def upper_case(texts: Texts, row: int, draw: random.Random) -> str | None:
    """The whole translation in capitals."""
    return texts.target[row].upper()
