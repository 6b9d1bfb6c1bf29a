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
from qe.display.summary import summarised
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
from qe_treebanks.annotator import Annotator, Batch
from qe_treebanks.annotators import _relations, _storage, _transitions
from qe_treebanks.annotators._projective import projective
from qe_treebanks.annotators.pos import Pos, annotated, indexed
from qe_treebanks.linear import Floats, Hashes
from qe_treebanks.words import ATTRIBUTES, hashed

_FOLDS: Final = 4
_VERBS, _PUNCTUATION, _CONJUNCTIONS = (
    frozenset(("VERB", "AUX")),
    frozenset(("PUNCT",)),
    frozenset(("CCONJ", "SCONJ")),
)
_BITS: Final = 22
_LABEL_BITS: Final = 21
_VERSION: Final = digest(_transitions.TEMPLATES.tolist(), _relations.TEMPLATES.tolist())


@summarised
@dataclass(frozen=True, eq=False)
class Dependencies(Annotator):
    """Heads, and the layer `deprel`. Heads come from transitions with a beam, then labels from the root
    downwards.

    Every text is one tree with one root, without crossing arcs. Parts of speech are those that a tagger
    trained on the other three quarters of the treebank gives, so that training sees errors like those of use.

    Attributes
    ----------
    labels : tuple of str
        Names of relations.
    tags : tuple of str
        Parts of speech; candidates[starts[t]:starts[t + 1]] are the relations that tag t can have.
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
    candidates: NDArray[np.int32]
    starts: NDArray[np.int64]

    @classmethod
    def train(
        cls,
        files: Sequence[Path],
        language: str,
        settings: Mapping[str, int],
        progress: Progress = silent,
    ) -> Self:
        sentences = versions(_parsed(files))
        made = {**settings, "files": [sha256(file) for file in files]}
        for sentence in sentences:
            if any(not universal_deprel(row[DEPREL]).strip("_") for row in sentence):
                text = _shown_text(sentence)
                raise InputError(f"a word without relation in: {text}", remedy="give a parsed treebank")
        order, batch = _jackknifed(sentences, language, settings["seed"], progress)
        return cls._learned(order, batch, made, progress)

    @classmethod
    def _learned(
        cls, sentences: Sequence[Sequence[Row]], batch: Batch, settings: Mapping[str, Any], progress: Progress
    ) -> Self:
        trees = (heads_of(sentence, [_shown_text(sentence)] * len(sentence)) for sentence in sentences)
        heads = np.array([head for tree in trees for head in projective(tree)], np.int32)
        labels, gold = indexed([row[DEPREL] for sentence in sentences for row in sentence])
        tags, by_word = batch.layers["upos"].types, batch.layers["upos"].ids
        hashes, marks = _attributes(batch)
        seen: list[set[int]] = [set() for _ in tags]
        for tag, label in zip(by_word.tolist(), gold.tolist(), strict=True):
            seen[tag].add(label)
        lists = [sorted(choices) or [int(np.bincount(gold).argmax())] for choices in seen]
        candidates = np.array([label for choices in lists for label in choices], np.int32)
        starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        made = cls(
            settings, _zeros(_BITS, _transitions.ACTIONS), _zeros(_LABEL_BITS, len(labels)), labels, tags,
            candidates, starts,
        )  # fmt: skip
        offsets, random = batch.tokens.offsets, np.random.default_rng(settings["seed"])
        sums, label_sums = np.zeros(len(made.moves)), np.zeros(len(made.relations))
        clock = label_clock = 0
        for epoch in range(settings["epochs"]):
            order = random.permutation(len(batch.tokens))
            clock, _ = _transitions.epoch(
                hashes[:, :3].copy(), marks, offsets, heads, order, _transitions.TEMPLATES,
                _mask(made.moves, _transitions.ACTIONS), made.moves, sums, settings["beam"], clock,
            )  # fmt: skip
            label_clock = _relations.epoch(
                hashes, marks, by_word, offsets, heads, gold, order, _relations.TEMPLATES,
                _mask(made.relations, len(labels)), made.relations, label_sums, candidates, starts,
                label_clock,
            )  # fmt: skip
            progress("dependencies", epoch + 1, settings["epochs"])
        made.moves[:] -= (sums / max(clock, 1)).astype(np.float32)
        made.relations[:] -= (label_sums / max(label_clock, 1)).astype(np.float32)
        return made

    def annotate(self, batch: Batch) -> None:
        hashes, marks = _attributes(batch)
        offsets = batch.tokens.offsets
        heads, labels = np.empty(len(batch.tokens.ids), np.int32), np.empty(len(batch.tokens.ids), np.int32)
        _transitions.parse(
            hashes[:, :3].copy(), marks, offsets, _transitions.TEMPLATES,
            _mask(self.moves, _transitions.ACTIONS), self.moves, int(self.settings["beam"]), heads,
        )  # fmt: skip
        own = {tag: i for i, tag in enumerate(self.tags)}
        upos = batch.layers["upos"]
        tags = np.array([own.get(tag, 0) for tag in upos.types], np.int32)[upos.ids]
        _relations.label(
            hashes, marks, tags, offsets, heads, _relations.TEMPLATES,
            _mask(self.relations, len(self.labels)), self.relations, self.candidates, self.starts, labels,
        )  # fmt: skip
        batch.heads = heads
        batch.add("deprel", self.labels, labels)

    def save(self, path: Path) -> None:
        meta = {
            "version": _VERSION,
            "settings": dict(self.settings),
            "labels": self.labels,
            "tags": self.tags,
        }
        _storage.save(
            path, meta, moves=self.moves, relations=self.relations, candidates=self.candidates,
            starts=self.starts,
        )  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> Self:
        meta = _storage.load_meta(path, ("settings", "labels", "tags"), _VERSION)
        labels = _storage.texts(meta["labels"], "labels", path, 1)
        tags = _storage.texts(meta["tags"], "tags", path, 1)
        beam = meta["settings"].get("beam") if isinstance(meta["settings"], dict) else None
        _storage.check(isinstance(beam, int) and 0 < beam <= 256, "the beam is no number", path)
        candidates = _storage.load_array(path, "candidates", np.int32, 1)
        starts = _storage.load_array(path, "starts", np.int64, 1)
        _storage.starts(starts, len(tags), len(candidates), "candidates", path)
        _storage.check(bool((np.diff(starts) > 0).all()), "a tag has no candidate", path)
        _storage.indices(candidates, len(labels), "a candidate", path)
        moves = _storage.weights(path, "moves", _transitions.ACTIONS)
        relations = _storage.weights(path, "relations", len(labels))
        return cls(meta["settings"], moves, relations, labels, tags, candidates, starts)

    @classmethod
    def evaluate(cls, gold: Sequence[Path], language: str, annotators: Sequence[Annotator]) -> dict[str, Any]:
        """Unlabelled and labelled attachment scores, punctuation included. `las_universal` is without
        subtypes.
        """
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


def _attributes(batch: Batch) -> tuple[Hashes, NDArray[np.int64]]:
    upos, feats = batch.layers["upos"], batch.layers["feats"]
    keys = upos.ids.astype(np.int64) * len(feats.types) + feats.ids
    distinct, inverse = np.unique(keys, return_inverse=True)
    pairs = [divmod(key, len(feats.types)) for key in distinct.tolist()]
    fine = np.array([hashed(f"m={upos.types[u]}|{feats.types[f]}") for u, f in pairs], np.uint64)
    coarse = np.array([hashed(f"p={tag}") for tag in upos.types], np.uint64)
    marks = np.array(
        [(t in _VERBS) + 2 * (t in _PUNCTUATION) + 4 * (t in _CONJUNCTIONS) for t in upos.types], np.int64
    )
    words = batch.attributes[batch.treebank_tokens.ids]
    if not len(words):
        return np.empty((0, 4), np.uint64), np.empty(0, np.int64)
    columns = [
        words[:, ATTRIBUTES.index("lower")], coarse[upos.ids], fine[inverse],
        words[:, ATTRIBUTES.index("suffix3")],
    ]  # fmt: skip
    return np.column_stack(columns), marks[upos.ids]


def _zeros(bits: int, labels: int) -> Floats:
    return np.zeros((1 << bits) + labels, np.float32)


def _mask(weights: Floats, labels: int) -> np.uint64:
    return np.uint64(len(weights) - labels - 1)
