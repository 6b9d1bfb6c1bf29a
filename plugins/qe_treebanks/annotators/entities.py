"""Entities: names of people, places, organisations, ..., trained from CoNLL files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.progress import Progress, silent
from features.storage.files import digest, sha256
from features.text.annotation import OUTSIDE, Layer
from features.text.tokens import Tokens
from qe.display.summary import summarised
from qe_treebanks.annotator import Annotator, Batch
from qe_treebanks.annotators import _sequence, _storage
from qe_treebanks.annotators._entities import read_entities, scores
from qe_treebanks.annotators._sequence import SequenceModel
from qe_treebanks.annotators.pos import annotated, indexed
from qe_treebanks.words import templates

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


@summarised
@dataclass(frozen=True, eq=False)
class Entities(Annotator):
    """Layer `entity`: `B-` or `I-` and a type, or `O`. It learns from words, endings and capitals, not from
    tags.
    """

    adds: ClassVar[tuple[Layer, ...]] = ("entity",)
    treebank = "CoNLL 2002 or 2003, or CoNLL-U with NER= in MISC"
    defaults: ClassVar[Mapping[str, int]] = {"epochs": 10, "seed": 0}

    settings: Mapping[str, Any]
    model: SequenceModel

    @classmethod
    def train(
        cls,
        files: Sequence[Path],
        language: str,
        settings: Mapping[str, int],
        progress: Progress = silent,
    ) -> Self:
        sentences = read_entities(files)
        kinds = {tag[2:] for sentence in sentences for tag in sentence.tags if tag != OUTSIDE}
        labels = [OUTSIDE, *(f"{prefix}-{kind}" for kind in sorted(kinds) for prefix in "BI")]
        index = {label: i for i, label in enumerate(labels)}
        gold = np.array([index[tag] for sentence in sentences for tag in sentence.tags], np.int32)
        model = _sequence.fit(
            Tokens.from_lists([sentence.words for sentence in sentences]), gold, labels, _TEMPLATES,
            follows=follows(labels), bits=_BITS, progress=progress, stage="entities", **settings,
        )  # fmt: skip
        return cls({**settings, "files": [sha256(file) for file in files]}, model)

    def annotate(self, batch: Batch) -> None:
        batch.add("entity", self.model.labels, self.model.predict(batch.treebank_tokens, batch.attributes))

    def save(self, path: Path) -> None:
        meta = {"version": _VERSION, "settings": dict(self.settings), "labels": self.model.labels}
        _storage.save(path, meta, entities=self.model.weights, transitions=self.model.transitions)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta = _storage.load_meta(path, ("settings", "labels"), _VERSION)
        labels = _storage.texts(meta["labels"], "labels", path, 1)
        return cls(meta["settings"], _sequence.load(path, "entities", labels, _TEMPLATES))

    @classmethod
    def evaluate(cls, gold: Sequence[Path], language: str, annotators: Sequence[Annotator]) -> dict[str, Any]:
        """Precision, recall and F1 of whole entities, over all types and of each."""
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
    """(L + 1, L) whether a label may follow another. The last row marks the labels that may begin a text;
    `I-` only continues its own type.

    >>> follows(["O", "B-A", "I-A"]).tolist()
    [[True, True, False], [True, True, True], [True, True, True], [True, True, False]]
    """
    result = np.ones((len(labels) + 1, len(labels)), np.bool_)
    for i, before in enumerate([*labels, OUTSIDE]):
        for j, label in enumerate(labels):
            result[i, j] = not label.startswith("I-") or before[1:] == label[1:]
    return result
