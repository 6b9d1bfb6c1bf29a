"""Parts of speech, morphology and base forms, trained from CoNLL-U."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.storage.files import digest, sha256
from features.text.annotation import NOTHING, Layer
from features.text.tokens import Tokens
from qe.display.summary import Printable
from qe.language.conllu import FEATS, FORM, LEMMA, UPOS, XPOS, Row, read_conllu, versions
from qe_treebanks.annotator_folder import Annotator, Batch, Files, Settings, annotated, indexed
from qe_treebanks.annotators import _storage
from qe_treebanks.annotators._word_models import (
    Candidates,
    ChoiceModel,
    Lemmas,
    SequenceModel,
    Training,
    fit_choices,
    fit_sequence,
)
from qe_treebanks.hashed_features import templates

_TAGS: Final = templates(
    "form+0|lower+0|lower-1|lower+1|lower-2|lower+2|prefix1+0|prefix2+0|prefix3+0|prefix4+0|suffix1+0|"
    "suffix2+0|suffix3+0|suffix4+0|suffix5+0|short_shape+0|kind+0|lower-1 lower+0|lower+0 lower+1|"
    "suffix3-1|suffix3+1|suffix2-1 suffix3+0|suffix3+0 suffix2+1|kind-1 kind+0|short_shape-1|"
    "short_shape+1|lower-1 lower+1|lower-2 lower-1|lower+1 lower+2|kind+0 suffix2+0|suffix2-1 suffix2+1|"
    "suffix2-1 kind+0 suffix2+1"
)
_MORPHOLOGY: Final = templates(
    "form+0|lower+0|lower-1|lower+1|suffix1+0 tag+0|suffix2+0 tag+0|suffix3+0 tag+0|suffix4+0|suffix5+0|"
    "short_shape+0|kind+0|lower-1 lower+0|lower+0 lower+1|suffix3-1|suffix3+1|suffix2-1 suffix3+0|"
    "suffix1-1 suffix1+0 tag+0|suffix1+0 suffix1+1 tag+0|tag-1 suffix2+0|tag+1 suffix2+0|"
    "tag-1 tag+0 tag+1|suffix1-1 tag-1 suffix2+0|suffix2-1 tag-1 tag+0|suffix2+1 tag+1 tag+0|"
    "lower-2 tag-1|tag-2 tag-1 tag+0|suffix2-2 tag-2 tag+0"
)
_VERSION: Final = digest(_TAGS, _MORPHOLOGY)


@dataclass(frozen=True, eq=False)
class Pos(Annotator, Printable):
    """Adds the layers `upos`, `xpos`, `feats`, `lemma`.

    A sequence model predicts the universal part of speech. A choice model predicts language-specific tag and
    morphology together, given that part of speech. Base forms come from a dictionary of the treebank and
    suffix rules. Tokens of several syntactic words (`del`) are learned both joined and split.
    """

    adds: ClassVar[tuple[Layer, ...]] = ("lemma", "upos", "xpos", "feats")
    treebank = "CoNLL-U"
    defaults: ClassVar[Mapping[str, int]] = {"epochs": 8, "seed": 0}

    settings: Mapping[str, Any]
    tags: SequenceModel
    morphology: ChoiceModel
    lemmas: Lemmas

    @classmethod
    def train(cls, files: Files, language: str, settings: Settings, progress: Progress = silent) -> Self:
        made = {**settings, "files": [sha256(file) for file in files]}
        return cls.learned(versions(read_conllu(files)), made, progress)

    @classmethod
    def learned(
        cls, sentences: Sequence[Sequence[Row]], settings: Mapping[str, Any], progress: Progress = silent
    ) -> Self:
        """Learns from sentences with tags; raises InputError if a word has none."""
        for sentence in sentences:
            if any(row[UPOS] == NOTHING for row in sentence):
                raise InputError(
                    f"a word without part of speech in: {' '.join(row[FORM] for row in sentence)[:60]}",
                    remedy="give a treebank with UPOS (column 4)",
                )
        tokens = Tokens.from_lists([[row[FORM] for row in sentence] for sentence in sentences])
        rows = [row for sentence in sentences for row in sentence]
        labels, gold = indexed([row[UPOS] for row in rows])
        training = Training(settings["epochs"], settings["seed"], progress=progress, stage="parts of speech")
        tags = fit_sequence(tokens, gold, labels, _TAGS, training)
        full, right = indexed([f"{row[XPOS]}\t{row[FEATS]}" for row in rows])
        training = replace(training, stage="morphology")
        morphology = fit_choices(tokens, gold, right, labels, full, _MORPHOLOGY, training)
        lemmas = Lemmas.learned((row[FORM], row[UPOS], row[FEATS], row[LEMMA]) for row in rows)
        return cls(settings, tags, morphology, lemmas)

    def annotate(self, batch: Batch) -> None:
        hashes, words = batch.attributes, batch.treebank_tokens
        upos = self.tags.predict(words, hashes)
        full = self.morphology.predict(words, upos, hashes)
        batch.add("upos", self.tags.labels, upos)
        parts = [label.split("\t", 1) for label in self.morphology.labels]
        xpos, to_xpos = indexed([x for x, _ in parts])
        feats, to_feats = indexed([f for _, f in parts])
        batch.add("xpos", xpos, to_xpos[full])
        batch.add("feats", feats, to_feats[full])
        keys = (words.ids.astype(np.int64) * len(self.tags.labels) + upos) * len(parts) + full
        distinct, inverse = np.unique(keys, return_inverse=True)
        lemmas = []
        for key in distinct.tolist():
            rest, morphology = divmod(key, len(parts))
            word, tag = divmod(rest, len(self.tags.labels))
            lemmas.append(self.lemmas.lemma(words.types[word], self.tags.labels[tag], parts[morphology][1]))
        names, ids = indexed(lemmas)
        batch.add("lemma", names, ids[inverse] if len(lemmas) else np.empty(0, np.int32))

    def save(self, path: Path) -> None:
        meta = {
            "version": _VERSION, "settings": dict(self.settings), "labels": self.tags.labels,
            "morphology": self.morphology.labels, "lemmas": self.lemmas.as_json(),
        }  # fmt: skip
        candidates = self.morphology.candidates
        _storage.save(
            path, meta, tags=self.tags.weights, transitions=self.tags.transitions,
            choices=self.morphology.weights, candidates=candidates.labels, starts=candidates.starts,
        )  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = _storage.load(path, _VERSION)
        labels = _storage.texts(meta["labels"], "labels")
        full = _storage.texts(meta["morphology"], "morphology")
        _storage.check(all(name.count("\t") == 1 for name in full), "morphology has no two parts")
        candidates = Candidates.load(arrays, len(labels), len(full))
        weights = _storage.weights(arrays, "choices", len(full))
        tags = SequenceModel.load(arrays, "tags", labels, _TAGS)
        morphology = ChoiceModel(full, labels, _MORPHOLOGY, weights, candidates)
        return cls(meta["settings"], tags, morphology, Lemmas.from_json(meta["lemmas"]))

    @classmethod
    def evaluate(cls, gold: Files, language: str, annotators: Sequence[Annotator]) -> dict[str, Any]:
        sentences = read_conllu(gold)
        words = _accuracies([s.words for s in sentences], language, annotators)
        return {"words": words, "tokens": _accuracies([s.in_text() for s in sentences], language, annotators)}


def _accuracies(
    sentences: Sequence[Sequence[Row]], language: str, annotators: Sequence[Annotator]
) -> dict[str, float]:
    batch = annotated([[row[FORM] for row in sentence] for sentence in sentences], language, annotators)
    rows = [row for sentence in sentences for row in sentence]
    result: dict[str, float] = {"n": len(rows)}
    for layer, column in (("upos", UPOS), ("xpos", XPOS), ("feats", FEATS), ("lemma", LEMMA)):
        predicted = batch.layers[layer]  # type: ignore[index]
        right = sum(
            predicted.types[k] == row[column] for k, row in zip(predicted.ids.tolist(), rows, strict=True)
        )
        result[layer] = right / len(rows)
    return result
