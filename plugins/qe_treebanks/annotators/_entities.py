"""Files of entities, and precision, recall and F1 of whole entities."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.files import read_lines
from features.text.annotation import OUTSIDE, layer_tokens, spans
from features.text.tokens import Tokens
from qe.language.conllu import FORM, MISC, read_conllu

_DOCUMENT = "-DOCSTART-"


@dataclass(frozen=True)
class Tagged:
    """The words of a sentence, and their tags: `B-` or `I-` and a type, `O`."""

    words: list[str]
    tags: list[str]


def read_entities(files: Sequence[Path]) -> list[Tagged]:
    """Sentences of CoNLL 2002 and 2003 files, or of CoNLL-U with `NER=`. CoNLL 2002 and 2003 have a word a
    line, its tag last. Tags of the older kind, where `I-` can begin an entity, are turned into `B-` and
    `I-`. Raises InputError, with file and line, for tags of another kind and files without a sentence.
    """
    sentences = [sentence for file in files for sentence in _read(file)]
    if not sentences:
        raise InputError("no tagged sentence", location=", ".join(map(str, files)))
    return sentences


def _read(path: Path) -> Iterator[Tagged]:
    first = next((line for line in read_lines(path) if line.strip() and not line.startswith("#")), "")
    if first.count("\t") == 9:
        yield from _of_conllu(path)
        return
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        cells = line.split()
        if len(cells) == 1:
            raise InputError(
                f"a word and its tag are needed, but this line has {line.strip()[:40]!r} alone",
                location=f"{path}:{number}",
            )
        if cells and cells[0] != _DOCUMENT:
            _check(cells[-1], f"{path}:{number}")
            words.append(cells[0])
            tags.append(cells[-1])
        elif words:
            yield Tagged(words, normalised(tags))
            words, tags = [], []
    if words:
        yield Tagged(words, normalised(tags))


def _of_conllu(path: Path) -> Iterator[Tagged]:
    for sentence in read_conllu([path]):
        words = [row[FORM] for row in sentence.words]
        block = "\n".join("\t".join(row) for row in sentence.words)
        tags = layer_tokens([block], Tokens.from_lists([words]), "entity", sentence.location).words(0)
        for row, tag in zip(sentence.words, tags, strict=True):
            if tag == "_":
                raise InputError(
                    f"no entity tag in {row[MISC]!r}",
                    location=sentence.location,
                    remedy="give NER=O, NER=B-PER, ...",
                )
            _check(tag, sentence.location)
        yield Tagged(words, normalised(tags))


def _check(tag: str, location: str) -> None:
    if tag != OUTSIDE and not (tag[:2] in ("B-", "I-") and len(tag) > 2):
        raise InputError(f"an entity tag must be O, B-TYPE or I-TYPE, but is {tag[:40]!r}", location=location)


def normalised(tags: Sequence[str]) -> list[str]:
    """The tags with `B-` at the beginning of every entity.

    >>> normalised(["I-PER", "I-PER", "I-LOC", "O", "B-LOC"])
    ['B-PER', 'I-PER', 'B-LOC', 'O', 'B-LOC']
    """
    result = [OUTSIDE] * len(tags)
    for start, end, kind in spans(tags):
        result[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return result


def scores(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> dict[str, Any]:
    """Precision, recall and F1 of (gold, predicted) tags of texts, over all types and of each. As the script
    conlleval of the CoNLL tasks counts (Tjong Kim Sang 2002): an entity is right if its first word, last
    word and type are. A share of nothing is 0, as there.

    >>> scores([(["B-PER", "I-PER", "O"], ["B-PER", "O", "O"])])["f1"]
    0.0
    """
    right: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    for true, guess in pairs:
        one, other = set(spans(true)), set(spans(guess))
        gold.update(kind for _, _, kind in one)
        predicted.update(kind for _, _, kind in other)
        right.update(kind for _, _, kind in one & other)
    kinds = sorted({*gold, *predicted})
    total = _figures(right.total(), gold.total(), predicted.total())
    return {**total, "types": {kind: _figures(right[kind], gold[kind], predicted[kind]) for kind in kinds}}


def _figures(right: int, gold: int, predicted: int) -> dict[str, float]:
    precision, recall = right / predicted if predicted else 0.0, right / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"n": gold, "predicted": predicted, "precision": precision, "recall": recall, "f1": f1}
