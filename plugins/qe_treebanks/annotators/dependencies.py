"""Dependencies, trained from CoNLL-U."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.storage.files import digest, sha256
from features.text.annotation import Layer
from features.text.tokens import Tokens
from qe.display.summary import Printable
from qe.language.conllu import (
    DEPREL,
    FORM,
    HEAD,
    Row,
    Sentence,
    heads_of,
    read_conllu,
    universal_deprel,
    versions,
)
from qe_treebanks.annotator_folder import Annotator, Batch, Files, Settings, annotated, indexed
from qe_treebanks.annotators import _storage, _transitions
from qe_treebanks.annotators._transitions import ACTIONS, RELATION_TEMPLATES, TEMPLATES, Words, projective
from qe_treebanks.annotators._word_models import Candidates, Training
from qe_treebanks.annotators.pos import Pos
from qe_treebanks.hashed_features import ATTRIBUTES, Floats, hashed, linear, untrained

_FOLDS: Final = 4
_MARKS: Final = {"VERB": 1, "AUX": 1, "PUNCT": 2, "CCONJ": 4, "SCONJ": 4}
_BITS: Final = 22
_LABEL_BITS: Final = 21
_VERSION: Final = digest(TEMPLATES.tolist(), RELATION_TEMPLATES.tolist())


@dataclass(frozen=True, eq=False)
class Dependencies(Annotator, Printable):
    """Adds heads, by transitions with a beam, and the layer `deprel`, from the root downwards.

    Every text is one tree with one root, without crossing arcs. In training, parts of speech come from
    taggers trained on the other three quarters of the treebank, so that their errors are realistic.

    Attributes
    ----------
    labels : tuple of str
        Names of relations.
    tags : tuple of str
        Parts of speech, which limit relations to `candidates`.
    """

    needs: ClassVar[tuple[str, ...]] = ("pos",)
    adds: ClassVar[tuple[Layer, ...]] = ("deprel",)
    treebank = "CoNLL-U"
    defaults: ClassVar[Mapping[str, int]] = {"epochs": 10, "beam": 8, "seed": 0}

    settings: Mapping[str, Any]
    moves: Floats
    relations: Floats
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    candidates: Candidates

    @classmethod
    def train(cls, files: Files, language: str, settings: Settings, progress: Progress = silent) -> Self:
        sentences = versions(_parsed(files))
        made = {**settings, "files": [sha256(file) for file in files]}
        for sentence in sentences:
            if any(not universal_deprel(row[DEPREL]).strip("_") for row in sentence):
                text = _shown_text(sentence)
                raise InputError(f"a word without relation in: {text}", remedy="give a parsed treebank")
        ordered, batch = _jackknifed(sentences, language, settings["seed"], progress)
        trees = (heads_of(sentence, [_shown_text(sentence)] * len(sentence)) for sentence in ordered)
        heads = np.array([head for tree in trees for head in projective(tree)], np.int32)
        labels, gold = indexed([row[DEPREL] for sentence in ordered for row in sentence])
        tags, by_word = batch.layers["upos"].types, batch.layers["upos"].ids
        words, offsets = _words(batch), batch.tokens.offsets
        candidates = Candidates.from_gold(by_word, gold, len(tags))
        moves = untrained(TEMPLATES, _BITS, ACTIONS)
        relations, scratch = untrained(RELATION_TEMPLATES, _LABEL_BITS, len(labels)), np.empty_like(gold)

        def one_pass(order: NDArray[np.int64], clock: int) -> int:
            _transitions.one_pass(words, offsets, heads, order, moves, settings["beam"], clock)
            _transitions.label(
                words, by_word, offsets, heads, order, relations, candidates, gold, clock, scratch
            )
            return clock + len(order)

        training = Training(settings["epochs"], settings["seed"], progress=progress, stage="dependencies")
        clock = training.steps(len(batch.tokens), one_pass)
        for model in (moves, relations):
            model.weights[:] -= (model.sums / max(clock, 1)).astype(np.float32)
        return cls(made, moves.weights, relations.weights, labels, tags, candidates)

    def annotate(self, batch: Batch) -> None:
        words, offsets = _words(batch), batch.tokens.offsets
        heads, labels = (np.empty(len(batch.tokens.ids), np.int32) for _ in range(2))
        moves = linear(TEMPLATES, self.moves, ACTIONS)
        _transitions.parse(words, offsets, moves, int(self.settings["beam"]), heads)
        own = {tag: i for i, tag in enumerate(self.tags)}
        upos = batch.layers["upos"]
        tags = np.array([own.get(tag, 0) for tag in upos.types], np.int32)[upos.ids]
        relations = linear(RELATION_TEMPLATES, self.relations, len(self.labels))
        order, none = np.arange(len(batch.tokens)), np.empty(0, np.int32)
        _transitions.label(words, tags, offsets, heads, order, relations, self.candidates, none, 0, labels)
        batch.heads = heads
        batch.add("deprel", self.labels, labels)

    def save(self, path: Path) -> None:
        own = {"settings": dict(self.settings), "labels": self.labels, "tags": self.tags}
        _storage.save(
            path, {"version": _VERSION, **own}, moves=self.moves, relations=self.relations,
            candidates=self.candidates.labels, starts=self.candidates.starts,
        )  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = _storage.load(path, _VERSION)
        labels, tags = (_storage.texts(meta[name], name) for name in ("labels", "tags"))
        beam = meta["settings"]["beam"]
        _storage.check(isinstance(beam, int) and 0 < beam <= 256, "the beam is no number")
        candidates = Candidates.load(arrays, len(tags), len(labels))
        moves = _storage.weights(arrays, "moves", ACTIONS)
        relations = _storage.weights(arrays, "relations", len(labels))
        return cls(meta["settings"], moves, relations, labels, tags, candidates)

    @classmethod
    def evaluate(cls, gold: Files, language: str, annotators: Sequence[Annotator]) -> dict[str, Any]:
        """Unlabelled and labelled attachment scores with punctuation; `las_universal` ignores subtypes."""
        sentences = _parsed(gold)
        words = _attachment([s.words for s in sentences], language, annotators)
        return {"words": words, "tokens": _attachment([s.in_text() for s in sentences], language, annotators)}


def _parsed(files: Sequence[Path]) -> list[Sentence]:
    sentences = read_conllu(files)
    for sentence in sentences:
        sentence.heads()
    return sentences


def _shown_text(sentence: Sequence[Row]) -> str:
    return " ".join(row[FORM] for row in sentence)[:60]


def _attachment(
    sentences: Sequence[Sequence[Row]], language: str, annotators: Sequence[Annotator]
) -> dict[str, float]:
    batch = annotated([[row[FORM] for row in sentence] for sentence in sentences], language, annotators)
    rows = [row for sentence in sentences for row in sentence]
    assert batch.heads is not None
    relations = batch.layers["deprel"]
    arcs = zip(batch.heads.tolist(), (relations.types[k] for k in relations.ids.tolist()), strict=True)
    heads = labels = universal = 0
    for row, (head, label) in zip(rows, arcs, strict=True):
        if int(row[HEAD]) - 1 == head:
            heads += 1
            labels += row[DEPREL] == label
            universal += universal_deprel(row[DEPREL]) == universal_deprel(label)
    n = len(rows)
    return {"n": n, "uas": heads / n, "las": labels / n, "las_universal": universal / n}


def _jackknifed(
    sentences: Sequence[Sequence[Row]], language: str, seed: int, progress: Progress
) -> tuple[list[Sequence[Row]], Batch]:
    folds = min(_FOLDS, len(sentences))
    members = [[s for i, s in enumerate(sentences) if i // 2 % folds == k] for k in range(folds)]
    parts: list[Batch] = []
    for k, held_out in enumerate(members):
        rest = [s for j, others in enumerate(members) if j != k for s in others] or held_out
        tagger = Pos.learned(rest, {"epochs": 5, "seed": seed})
        parts.append(annotated([[row[FORM] for row in s] for s in held_out], language, [tagger]))
        progress("parts of speech", k + 1, folds)
    order = [sentence for held_out in members for sentence in held_out]
    batch = Batch(Tokens.from_lists([[row[FORM] for row in s] for s in order]), language)
    for layer in ("upos", "feats"):
        layers = [part.layers[layer] for part in parts]
        names, ids = indexed([layer_.types[k] for layer_ in layers for k in layer_.ids.tolist()])
        batch.add(layer, names, ids)
    return order, batch


def _words(batch: Batch) -> Words:
    upos, feats = batch.layers["upos"], batch.layers["feats"]
    keys = upos.ids.astype(np.int64) * len(feats.types) + feats.ids
    distinct, inverse = np.unique(keys, return_inverse=True)
    pairs = [divmod(key, len(feats.types)) for key in distinct.tolist()]
    fine = np.array([hashed(f"m={upos.types[u]}|{feats.types[f]}") for u, f in pairs], np.uint64)
    coarse = np.array([hashed(f"p={tag}") for tag in upos.types], np.uint64)
    marks = np.array([_MARKS.get(tag, 0) for tag in upos.types], np.int64)
    words = batch.attributes[batch.treebank_tokens.ids]
    if not len(words):
        return Words(np.empty((0, 4), np.uint64), np.empty(0, np.int64))
    form, ending = (words[:, ATTRIBUTES.index(name)] for name in ("lower", "suffix3"))
    return Words(np.column_stack([form, coarse[upos.ids], fine[inverse], ending]), marks[upos.ids])
