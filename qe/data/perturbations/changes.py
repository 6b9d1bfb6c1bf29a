"""The perturbations, by what they do to quality."""

import random
import unicodedata

import regex

from features.text.languages import NEGATORS
from qe.data.perturbation import PERTURBATIONS, Perturbation, Texts, joined, words

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


class DestroyingPerturbation(Perturbation):
    """The translation is worthless afterwards."""

    effect = "destroying"


class LocalPerturbation(Perturbation):
    """One place of the translation is wrong afterwards."""

    effect = "wrong in one place"


class HarmlessPerturbation(Perturbation):
    """The translation is as good afterwards."""

    effect = "harmless"


class ReportedPerturbation(Perturbation):
    """Opinions differ on the translation afterwards."""

    effect = "reported"


@PERTURBATIONS.register("copy_of_source")
class CopyOfSource(DestroyingPerturbation):
    """The source as the translation: output of a system that translates nothing."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return texts.source[row]


@PERTURBATIONS.register("digits_only")
class DigitsOnly(DestroyingPerturbation):
    """One number of up to four digits for each word of the translation."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return " ".join(str(draw.randrange(10_000)) for _ in words(texts.target[row]))


@PERTURBATIONS.register("emoji_only")
class EmojiOnly(DestroyingPerturbation):
    """One emoji for each word of the translation; half of the rows repeat one throughout."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        known = draw.choice(_EMOJI) if draw.random() < 0.5 else _EMOJI
        return "".join(draw.choice(known) for _ in words(texts.target[row]))


@PERTURBATIONS.register("foreign")
class Foreign(DestroyingPerturbation):
    """A sentence that is in neither of the two languages."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        own = (texts.source_language, texts.target_language)
        return draw.choice([text for code, text in _SENTENCES.items() if code not in own])


@PERTURBATIONS.register("half_dropped")
class HalfDropped(DestroyingPerturbation):
    """Words drawn at random are gone; the others keep their order."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        kept = sorted(draw.sample(range(len(units)), (len(units) + 1) // 2))
        return joined([units[i] for i in kept], texts.target[row]) if len(units) > 1 else None


@PERTURBATIONS.register("marks_appended")
class MarksAppended(DestroyingPerturbation):
    """20 to 80 times the same mark, with or without blanks between."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        mark = draw.choice((".", "!", "?", ",", "-", " .", " !", " ?", " ,"))
        return texts.target[row] + mark * draw.randint(20, 80)


@PERTURBATIONS.register("mojibake")
class Mojibake(DestroyingPerturbation):
    """UTF-8 or UTF-16 read as a one-byte encoding: `aÃ±o` for `año`; only UTF-16 changes pure ASCII."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row]
        pairs = [_PAIRS[-1]] if text.isascii() else _PAIRS
        right, wrong = draw.choice(pairs)
        broken = text.encode(right, "surrogatepass").decode(wrong, "replace")
        return broken.replace("\x00", "\N{REPLACEMENT CHARACTER}")


@PERTURBATIONS.register("one_word_repeated")
class OneWordRepeated(DestroyingPerturbation):
    """A word drawn from all translations, as often as the translation has words."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        return joined([draw.choice(texts.target_words)] * max(len(units), 3), texts.target[row])


@PERTURBATIONS.register("other_segment")
class OtherSegment(DestroyingPerturbation):
    """A translation of about the same length, drawn from the other rows."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        size = len(words(texts.target[row]))
        drawn = [draw.choice(texts.target) for _ in range(_TRIES)]
        different = [text for text in drawn if text != texts.target[row]]
        return min(different, key=lambda text: abs(len(words(text)) - size)) if different else None


@PERTURBATIONS.register("punctuation_only")
class PunctuationOnly(DestroyingPerturbation):
    """One mark for each word of the translation, such as `. , ! - .`."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return " ".join(draw.choice(".,;:!?-") for _ in words(texts.target[row]))


@PERTURBATIONS.register("shuffled")
class Shuffled(DestroyingPerturbation):
    """All words in a random order; rows of fewer than three words stay."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        draw.shuffle(units)
        return joined(units, texts.target[row]) if len(units) > 2 else None


@PERTURBATIONS.register("swapped")
class Swapped(DestroyingPerturbation):
    """Source and translation are exchanged."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return texts.source[row]

    def source(self, texts: Texts, row: int) -> str:
        return texts.target[row]


@PERTURBATIONS.register("tail_repeated")
class TailRepeated(DestroyingPerturbation):
    """The last five words are repeated ten times, as by a decoder that loops."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        return joined(units + units[-5:] * 10, texts.target[row])


@PERTURBATIONS.register("third_replaced")
class ThirdReplaced(DestroyingPerturbation):
    """Words drawn at random become words drawn from all translations."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = words(texts.target[row])
        for i in draw.sample(range(len(units)), -(-len(units) // 3)):
            units[i] = draw.choice(texts.target_words)
        return joined(units, texts.target[row])


@PERTURBATIONS.register("three_times")
class ThreeTimes(DestroyingPerturbation):
    """The whole translation, repeated twice behind itself."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return " ".join([texts.target[row]] * 3)


@PERTURBATIONS.register("name_replaced")
class NameReplaced(LocalPerturbation):
    """One capitalised word within the sentence becomes another name; German stays as it is."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row]
        found = [] if texts.target_language in _NOUNS else list(_NAME.finditer(text))
        if not found:
            return None
        match = draw.choice(found)
        name = draw.choice([name for name in _NAMES if name != match.group()])
        return text[: match.start()] + name + text[match.end() :]


@PERTURBATIONS.register("negation_dropped")
class NegationDropped(LocalPerturbation):
    """One negator of the translation is left out; languages without a list of negators stay."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        pattern = NEGATORS.get(texts.target_language)
        text = texts.target[row]
        if pattern is None:
            return None
        found = list(regex.finditer(rf"(?i)(?<![\w'’])(?:{pattern})(?!\w|['’]\w)\s*", text))
        if not found:
            return None
        match = draw.choice(found)
        return (text[: match.start()] + text[match.end() :]).strip()


@PERTURBATIONS.register("number_changed")
class NumberChanged(LocalPerturbation):
    """One digit of the translation becomes another one."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row]
        digits = [match.start() for match in regex.finditer("[0-9]", text)]
        if not digits:
            return None
        at = draw.choice(digits)
        other = str((int(text[at]) + draw.randint(1, 9)) % 10)
        return text[:at] + other + text[at + 1 :]


@PERTURBATIONS.register("space_before_stop")
class SpaceBeforeStop(HarmlessPerturbation):
    """`word .` for `word.`; a stop that stands apart is not joined to its word, another token."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        text = texts.target[row].rstrip()
        if not text.endswith(".") or text.endswith(".."):
            return None
        return f"{text[:-1]} ."


@PERTURBATIONS.register("trailing_blank")
class TrailingBlank(HarmlessPerturbation):
    """One blank more at the end."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return texts.target[row] + " "


@PERTURBATIONS.register("typographic_quotes")
class TypographicQuotes(HarmlessPerturbation):
    """Straight quotes and apostrophes become “these” and ’; the meaning stays."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        opened: str = regex.sub(r'(?<!\S)"', "“", texts.target[row])
        return opened.replace('"', "”").replace("'", "’")


@PERTURBATIONS.register("unicode_nfd")
class UnicodeNfd(HarmlessPerturbation):
    """Letters and their accents as separate characters (NFD); it looks the same."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return unicodedata.normalize("NFD", texts.target[row])


@PERTURBATIONS.register("html_tags")
class HtmlTags(ReportedPerturbation):
    """Every fifth word, drawn at random, stands between `<b>` and `</b>`."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        units = texts.target[row].split()
        for i in draw.sample(range(len(units)), -(-len(units) // 5)):
            units[i] = f"<b>{units[i]}</b>"
        return " ".join(units)


@PERTURBATIONS.register("upper_case")
class UpperCase(ReportedPerturbation):
    """The whole translation in capitals."""

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        return texts.target[row].upper()
