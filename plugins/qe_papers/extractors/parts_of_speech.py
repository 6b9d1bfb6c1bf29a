"""Parts of speech: shares, ambiguity, edits by class."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.edits.edit_labels import CATEGORIES, EDITS, WORD_CLASSES, edit_counts, edit_labels
from features.text.annotation import layer_tokens, layers, word_class_tokens
from features.text.corpus import Side
from features.text.stems import annotated_lemmas
from features.text.tokens import Tokens, ratio
from qe_papers.families import ANNOTATIONS, SIDES, ColumnFamily
from qe_papers.resources.tag_dictionary import TagDictionary

UPOS: Final = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip

# Stem of column names -> universal parts of speech.
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    **{f"upos_{tag.lower()}": (tag,) for tag in UPOS},
    "pos_nouns": ("NOUN", "PROPN"),
    "pos_verbs": ("VERB", "AUX"),
    "pos_content": ("NOUN", "PROPN", "VERB", "AUX", "ADJ"),
    "pos_function": ("DET", "PRON", "ADP", "ADV"),
    "pos_prepositions_conjunctions": ("ADP", "CCONJ", "SCONJ"),
}

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1"
_DFKI: Final = "Avramidis 2012 (DFKI), section 2.2.1 (there counted on parses)"
_DCU: Final = "Rubino et al. 2012 (DCU-SYMC), sections 2.1 and 3.2"
_NOTES: Final = "QUALITY-NOTES, first study: part-of-speech counts and differences"
_OWN: Final = "this project: total variation distance of the tag distributions"
_ORIGINS: Final = {"pos_prepositions_conjunctions": _DCU, "pos_content": _WLV, "pos_function": _WLV}


@dataclass(frozen=True)
class PartsOfSpeech(ColumnFamily):
    """Counts, shares, differences and ratios of universal parts of speech: `COLUMNS`.

    Tags come from the segments' annotations (CoNLL-U); other tags count in the length only. Shares are NaN
    for a text without tokens, ratios if the denominator is 0.

    Raises InputError if an annotation is missing, or does not match the tokens.
    """

    plain: ClassVar[str] = "how many nouns, verbs and other kinds of words the {text} has"

    @property
    def columns(self) -> Sequence[Column["_Counts"]]:
        return COLUMNS

    def requires(self) -> tuple[str, ...]:
        return ANNOTATIONS

    def prepared(self, segments: Segments) -> "_Counts":
        texts = zip(ANNOTATIONS, (segments.source_tokens, segments.target_tokens), strict=True)
        return _Counts([layer_tokens(segments.require(c), t, "upos", c) for c, t in texts])


class _Counts:
    def __init__(self, tags: Sequence[Tokens]) -> None:
        known = {tag: i for i, tag in enumerate(UPOS)}
        size = len(UPOS) + 1  # the last one: other tags
        self.lengths = {side: own.lengths for side, own in zip(SIDES, tags, strict=True)}
        self.by_tag: dict[Side, FloatArray] = {}
        for side, own in zip(SIDES, tags, strict=True):
            by_type = np.array([known.get(tag, len(UPOS)) for tag in own.types], np.int64)
            counts = np.bincount(own.text_index * size + by_type[own.ids], minlength=len(own) * size)
            self.by_tag[side] = counts.reshape(-1, size)[:, :-1].astype(np.float64)

    def count(self, side: Side, group: str) -> FloatArray:
        columns = [UPOS.index(tag) for tag in GROUPS[group]]
        return np.asarray(self.by_tag[side][:, columns].sum(axis=1), np.float64)

    def share(self, side: Side, group: str) -> FloatArray:
        return ratio(self.count(side, group), self.lengths[side])

    def difference(self, group: str) -> FloatArray:
        return self.count("source", group) - self.count("target", group)

    @property
    def distance(self) -> FloatArray:
        shares = [ratio(self.by_tag[side], self.lengths[side][:, None]) for side in SIDES]
        return np.asarray(np.abs(shares[0] - shares[1]).sum(axis=1) / 2, np.float64)


def _of_group(group: str) -> Iterator[Column[_Counts]]:
    what, counted = "words tagged " + " or ".join(GROUPS[group]), _ORIGINS.get(group, _DFKI)
    for side, origin in zip(SIDES, (_WLV, _DCU), strict=True):
        count, share = (partial(f, side=side, group=group) for f in (_Counts.count, _Counts.share))
        yield Column(f"{group}_{side}", f"{side}: {what}", counted, "words", count)
        yield Column(f"{group}_{side}_share", f"{side}: share of {what}", origin, "share", share)
    rows: Sequence[tuple[str, str, str, str, Callable[[_Counts], FloatArray]]] = (
        ("difference", "source less target", "words", _NOTES, lambda c: c.difference(group)),
        ("absolute_difference", "|source - target|", "words", _NOTES, lambda c: np.abs(c.difference(group))),
        ("ratio", "target / source; NaN if the source has none", "ratio", _DFKI,
         lambda c: ratio(c.count("target", group), c.count("source", group))),
    )  # fmt: skip
    for name, text, unit, origin, compute in rows:
        yield Column(f"{group}_{name}", f"{what}, {text}", origin, unit, compute)


def _ratio_of_shares(group: str) -> Column[_Counts]:
    what = f"share of {' or '.join(GROUPS[group])}, source / target; NaN if the target has none"
    return Column(
        f"{group}_ratio_of_shares", what, _WLV, "ratio",
        lambda c: ratio(c.share("source", group), c.share("target", group)),
    )  # fmt: skip


def _content_to_function(side: Side) -> Column[_Counts]:
    what = f"{side}: content words / function words; NaN without function words"
    return Column(
        f"pos_content_to_function_{side}", what, _WLV, "ratio",
        lambda c: ratio(c.count(side, "pos_content"), c.count(side, "pos_function")),
    )  # fmt: skip


COLUMNS: Final = (
    *(column for group in GROUPS for column in _of_group(group)),
    *map(_ratio_of_shares, ("pos_nouns", "pos_verbs", "upos_pron")),
    *map(_content_to_function, SIDES),
    Column[_Counts](
        "pos_distance",
        "half the sum over tags of |share in the source - share in the target|; NaN if a side is empty",
        _OWN, "share", lambda c: c.distance,
    ),
)  # fmt: skip


_DCU_AMBIGUITY: Final = "DCU-SYMC at WMT12, section 3.2 (there TreeTagger's dictionary)"


@dataclass(frozen=True)
class TagAmbiguity(Extractor):
    """Shares of words with several tags, and with none, in the annotated corpus."""

    plain: ClassVar[str] = "words of the {text} that may be nouns, verbs or others"

    source_tag_dictionary: TagDictionary
    target_tag_dictionary: TagDictionary

    @property
    def features(self) -> Sequence[Feature]:
        what = "{}: share of tokens that {} the annotated corpus; undefined without tokens"
        return [
            Feature(f"tags_{side}_{name}", what.format(side, text), _DCU_AMBIGUITY, "share")
            for side in SIDES
            for name, text in (("ambiguous", "have several tags in"), ("unknown", "are not in"))
        ]

    def extract(self, segments: Segments) -> FloatArray:
        pairs = (
            (self.source_tag_dictionary, segments.source_tokens),
            (self.target_tag_dictionary, segments.target_tokens),
        )
        return np.column_stack([f(tokens) for d, tokens in pairs for f in (d.ambiguous, d.unknown)])


_CHANGED = {"word_changed": "another word of the same class", "pos_changed": "a word of another class"}
_ORIGIN = "Koponen 2012, Comparing human perceptions of post-editing effort with post-editing operations, 3"


@dataclass(frozen=True)
class EditsByWordClass(Extractor):
    """Shares of words replaced, edited at all, or moved in a second translation, by word class.

    Edits are those of `features.edits.edit_labels`, lower-cased; a share is NaN without such words. Lemmas
    come from the annotations, or from simplemma if they have none.
    """

    plain: ClassVar[str] = "which kinds of words another translation has otherwise"

    @property
    def features(self) -> Sequence[Feature]:
        columns = [
            Feature(f"edits_{name}", f"words that the pseudo-reference has {text} for", _ORIGIN, "share")
            for name, text in _CHANGED.items()
        ]
        for name in WORD_CLASSES:
            noun = f"{name}s" if name not in ("other", "punctuation") else f"words of the class {name}"
            edited, moved = f"{noun} that differ in the pseudo-reference", f"paired {noun} in another place"
            columns.append(Feature(f"edits_{name}_edited", edited, _ORIGIN, "share"))
            columns.append(Feature(f"edits_{name}_moved", f"{moved} there", _ORIGIN, "share"))
        return columns

    def requires(self) -> tuple[str, ...]:
        return ("pseudo_reference", "annotation_target", "annotation_pseudo_reference")

    def extract(self, segments: Segments) -> FloatArray:
        sides = [_annotated(segments, side) for side in ("target", "pseudo_reference")]
        words, lemmas, classes = ((sides[0][k], sides[1][k]) for k in range(3))
        labels = edit_labels(words, lemmas, classes)
        counts = edit_counts(labels, classes).counts
        edits = counts[:, :, : len(EDITS)]
        whole, of_class = edits.sum(axis=(1, 2)), edits.sum(axis=2)
        changed = [edits[:, :, EDITS.index(name)].sum(axis=1) for name in _CHANGED]
        edited = of_class - edits[:, :, EDITS.index("match")]
        kept = counts[:, :, CATEGORIES.index("order_same")]
        near, far = (CATEGORIES.index(name) for name in ("distance_1", "distance_2_or_more"))
        moved = counts[:, :, near] + counts[:, :, far]
        by_class = np.stack([ratio(edited, of_class), ratio(moved, kept + moved)], axis=2)
        columns = by_class.reshape(len(counts), 2 * len(WORD_CLASSES))
        return np.hstack([*(ratio(column, whole)[:, None] for column in changed), columns])


def _annotated(segments: Segments, side: str) -> tuple[Tokens, Tokens, Tokens]:
    column = f"annotation_{side}"
    tokens: Tokens = getattr(segments, f"{side}_tokens")
    lemma, upos = layers(segments.require(column), tokens, ("lemma", "upos"), column)
    language = segments.target_tokenizer.language
    return tokens.lower(), annotated_lemmas(tokens, lemma, language), word_class_tokens(tokens.lower(), upos)
