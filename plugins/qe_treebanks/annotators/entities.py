"""Entities: names of people, places, organisations, ..., trained from CoNLL files."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.storage.files import digest, read_lines, sha256
from features.text.annotation import OUTSIDE, Layer, layer_tokens, spans
from features.text.tokens import Tokens
from qe.display.summary import Printable
from qe.language.conllu import FORM, MISC, read_conllu
from qe_treebanks.annotator_folder import Annotator, Batch, Files, Settings, annotated, indexed
from qe_treebanks.annotators import _storage
from qe_treebanks.annotators._word_models import SequenceModel, Training, fit_sequence
from qe_treebanks.hashed_features import templates

_DOCUMENT: Final = "-DOCSTART-"
_TEMPLATES: Final = templates(
    "form+0|lower+0|lower-1|lower+1|lower-2|lower+2|prefix2+0|prefix3+0|prefix4+0|suffix1+0|suffix2+0|"
    "suffix3+0|suffix4+0|suffix5+0|short_shape+0|kind+0|shape+0|lower-1 lower+0|lower+0 lower+1|suffix3-1|"
    "suffix3+1|kind-1 kind+0|kind+0 kind+1|kind-1 kind+0 kind+1|short_shape-1|short_shape+1|short_shape+2|"
    "short_shape-2|lower-1 kind+0|lower+1 kind+0|lower-2 lower-1|lower+1 lower+2|lower-1 kind+0 kind+1|"
    "kind+0 lower-2|short_shape-1 short_shape+0 short_shape+1|suffix3-1 kind+0|prefix4-1|prefix4+1|"
    "lower-3|lower+3|kind-2 kind-1 kind+0|lower-2 lower-1 kind+0"
)
_BITS: Final = 21
_VERSION: Final = digest(_TEMPLATES)


@dataclass(frozen=True, eq=False)
class Entities(Annotator, Printable):
    """Adds the layer `entity` (`B-` or `I-` and a type, or `O`), from words, not from tags."""

    adds: ClassVar[tuple[Layer, ...]] = ("entity",)
    treebank = "CoNLL 2002 or 2003, or CoNLL-U with NER= in MISC"
    defaults: ClassVar[Mapping[str, int]] = {"epochs": 10, "seed": 0}

    settings: Mapping[str, Any]
    model: SequenceModel

    @classmethod
    def train(cls, files: Files, language: str, settings: Settings, progress: Progress = silent) -> Self:
        sentences = read_entities(files)
        kinds = {tag[2:] for sentence in sentences for tag in sentence.tags if tag != OUTSIDE}
        labels = [OUTSIDE, *(f"{prefix}-{kind}" for kind in sorted(kinds) for prefix in "BI")]
        index = {label: i for i, label in enumerate(labels)}
        gold = np.array([index[tag] for sentence in sentences for tag in sentence.tags], np.int32)
        tokens = Tokens.from_lists([sentence.words for sentence in sentences])
        training = Training(**settings, bits=_BITS, progress=progress, stage="entities")
        model = fit_sequence(tokens, gold, labels, _TEMPLATES, training, follows(labels))
        return cls({**settings, "files": [sha256(file) for file in files]}, model)

    def annotate(self, batch: Batch) -> None:
        batch.add("entity", self.model.labels, self.model.predict(batch.treebank_tokens, batch.attributes))

    def save(self, path: Path) -> None:
        meta = {"version": _VERSION, "settings": dict(self.settings), "labels": self.model.labels}
        _storage.save(path, meta, entities=self.model.weights, transitions=self.model.transitions)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = _storage.load(path, _VERSION)
        labels = _storage.texts(meta["labels"], "labels")
        return cls(meta["settings"], SequenceModel.load(arrays, "entities", labels, _TEMPLATES))

    @classmethod
    def evaluate(cls, gold: Files, language: str, annotators: Sequence[Annotator]) -> dict[str, Any]:
        sentences = read_entities(gold)
        batch = annotated([sentence.words for sentence in sentences], language, annotators)
        tags = batch.layers["entity"]
        result = scores((sentence.tags, tags.words(i)) for i, sentence in enumerate(sentences))
        names, gold_ids = indexed([tag for sentence in sentences for tag in sentence.tags])
        same = sum(
            names[g] == tags.types[k] for g, k in zip(gold_ids.tolist(), tags.ids.tolist(), strict=True)
        )
        return {"tokens": {"n": len(gold_ids), "accuracy": same / max(len(gold_ids), 1)}, "entities": result}


def follows(labels: Sequence[str]) -> NDArray[np.bool_]:
    """Allowed transitions (L + 1, L) between labels; the last row marks allowed first labels.

    >>> follows(["O", "B-A", "I-A"]).tolist()
    [[True, True, False], [True, True, True], [True, True, True], [True, True, False]]
    """
    result = np.ones((len(labels) + 1, len(labels)), np.bool_)
    for i, before in enumerate([*labels, OUTSIDE]):
        for j, label in enumerate(labels):
            result[i, j] = not label.startswith("I-") or before[1:] == label[1:]
    return result


@dataclass(frozen=True)
class Tagged:
    words: list[str]
    tags: list[str]


def read_entities(files: Sequence[Path]) -> list[Tagged]:
    """Sentences of CoNLL 2002 and 2003 files (a word per line, its tag last), or of CoNLL-U with `NER=`.

    Raises InputError, with file and line, for other tags and files without a sentence.
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
    """Precision, recall and F1 of (gold, predicted) tags, over all types and per type, as by conlleval.

    Source: Tjong Kim Sang 2002; 0 / 0 is 0.
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
