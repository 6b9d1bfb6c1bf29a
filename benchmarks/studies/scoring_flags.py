"""Precision and recall of the flags, by kind, on errors injected into parallel text.

    python benchmarks/studies/scoring_flags.py --source ../shared/data/parallel/en-es/train.en.gz \
        --target ../shared/data/parallel/en-es/train.es.gz --languages en es

The lexicon is built from --pairs pairs; --test others are checked as people translated them, and
again with one error of each kind injected where the pair has room for one.

recall      share of the injected errors that change the kind's flag
alarms      share of the pairs as they are that it flags: an upper bound of the false alarms, since people
            err, too, and put things otherwise
precision   among equally many pairs with and without the error: recall / (recall + alarms)
"""

import argparse
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from features.resources.lexicon import Lexicon
from features.storage.files import read_lines
from features.text.tokenizer import Tokenizer
from qe.scoring.checks import Flags, Knowledge, names_of, negators

Pairs = Sequence[tuple[str, str]]
PLACES = ("Trondheim", "Uzbekistan", "Kowalski", "Nakamura", "Okafor", "Bratislava", "Fitzgerald", "Quito")
INSERTED = {"de": "nicht", "en": "not", "es": "no", "ro": "nu"}


@dataclass(frozen=True)
class Figures:
    injected: int
    recall: float
    alarms: float
    precision: float


def wrong_number(source: str, target: str, languages: tuple[str, str], draw: random.Random) -> str | None:
    """Another digit for one."""
    places = [match.start() for match in re.finditer(r"\d", target)]
    if not places:
        return None
    place = draw.choice(places)
    other = draw.choice([digit for digit in "123456789" if digit != target[place]])
    return target[:place] + other + target[place + 1 :]


def wrong_name(source: str, target: str, languages: tuple[str, str], draw: random.Random) -> str | None:
    """Another name for one that both sides spell alike."""
    names = [name for name in names_of(target, tuple(target.split())) if name in source]
    if not names:
        return None
    return target.replace(draw.choice(names), draw.choice(PLACES), 1)


def wrong_negation(source: str, target: str, languages: tuple[str, str], draw: random.Random) -> str | None:
    """`target` without its only negator, if the source has one; or with one inserted.

    It is inserted before some word if neither side has any.
    """
    there = negators(target, languages[1])
    in_source = negators(source, languages[0])
    if not there and not in_source:
        words = target.split(" ")
        place = draw.randrange(len(words))
        return " ".join([*words[:place], INSERTED[languages[1]], *words[place:]])
    if len(there) == 1 and in_source:
        dropped = re.sub(rf"(?<!\w){re.escape(there[0])}(?!\w)[- ]?", "", target, count=1, flags=re.I)
        return dropped if dropped != target else None
    return None


def left_untranslated(
    source: str, target: str, languages: tuple[str, str], draw: random.Random
) -> str | None:
    """A source word of five letters or more in place of a word of the translation."""
    words = [word for word in re.findall(r"\b[a-zà-ž]{5,}\b", source) if word not in target.lower()]
    return _replaced(target, draw.choice(words), draw) if words else None


def made_up(source: str, target: str, languages: tuple[str, str], draw: random.Random) -> str | None:
    """The letters of a word of six or more in another order."""
    words = re.findall(r"\b[a-zà-ž]{6,}\b", target)
    if not words:
        return None
    word = draw.choice(words)
    letters = list(word)
    draw.shuffle(letters)
    return target.replace(word, "".join(letters), 1)


def cut_short(source: str, target: str, languages: tuple[str, str], draw: random.Random) -> str | None:
    """The first third of the words."""
    words = target.split(" ")
    return " ".join(words[: len(words) // 3]) if len(words) >= 9 else None


Injection = Callable[[str, str, tuple[str, str], random.Random], str | None]
INJECTIONS: dict[str, Injection] = {
    "numbers": wrong_number,
    "names": wrong_name,
    "negation": wrong_negation,
    "untranslated": left_untranslated,
    "invented": made_up,
    "ratio": cut_short,
}


def _replaced(target: str, word: str, draw: random.Random) -> str:
    words = target.split(" ")
    words[draw.randrange(len(words))] = word
    return " ".join(words)


def figures(flags: Flags, pairs: Pairs, languages: tuple[str, str], seed: int = 0) -> dict[str, Figures]:
    """Figures of every kind that can be checked."""
    plain = [flags.words(*pair) for pair in pairs]
    measured = {}
    for kind in flags.checks:
        draw = random.Random(seed)
        spoilt = [INJECTIONS[kind](s, t, languages, draw) for s, t in pairs]
        made = [(s, t, words) for (s, _), t, words in zip(pairs, spoilt, plain, strict=True) if t is not None]
        hits = sum(
            kind in (seen := flags.words(s, t)) and seen[kind] != words.get(kind) for s, t, words in made
        )
        recall = hits / len(made) if made else float("nan")
        alarms = sum(kind in words for words in plain) / len(pairs)
        precision = recall / (recall + alarms) if recall + alarms else float("nan")
        measured[kind] = Figures(len(made), recall, alarms, precision)
    return measured


def lexicon_of(pairs: Pairs, languages: tuple[str, str]) -> Lexicon:
    source, target = (
        Tokenizer(code).tokens(side) for code, side in zip(languages, zip(*pairs, strict=True), strict=True)
    )
    return Lexicon.from_tokens(source, target)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--languages", nargs=2, required=True)
    parser.add_argument("--pairs", type=int, default=50_000, help="that the lexicon is built from")
    parser.add_argument("--test", type=int, default=2000, help="of the pairs after them, evenly drawn")
    given = parser.parse_args()
    languages = (given.languages[0], given.languages[1])
    pairs = [
        (source, target)
        for source, target in zip(read_lines(given.source), read_lines(given.target), strict=True)
        if source.strip() and target.strip()
    ]
    random.Random(0).shuffle(pairs)
    known = pairs[: min(given.pairs, len(pairs) * 4 // 5)]
    tested = pairs[len(known) : len(known) + given.test]
    flags = Flags.from_knowledge(Knowledge(languages, lexicon_of(known, languages)))
    print(f"{languages[0]}-{languages[1]}: lexicon from {len(known):,} pairs, {len(tested):,} pairs checked")
    print("| kind | injected | precision | recall | alarms |\n| --- | --- | --- | --- | --- |")
    for kind, each in figures(flags, tested, languages).items():
        shares = f"{each.precision:.2f} | {each.recall:.2f} | {each.alarms:.3f}"
        print(f"| {kind} | {each.injected:,} | {shares} |")
    for kind, why in flags.lacking.items():
        print(json.dumps({kind: why}))


if __name__ == "__main__":
    main()
