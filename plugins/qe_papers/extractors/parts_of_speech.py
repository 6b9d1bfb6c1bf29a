"""Parts of speech: shares, ambiguity, edits by class."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.edits.edit_labels import CATEGORIES, EDITS, WORD_CLASSES, edit_counts, edit_labels
from features.text.annotation import layer_tokens, layers, word_class_tokens
from features.text.stems import annotated_lemmas
from features.text.tokens import Tokens, ratio
from qe_papers.families import ColumnFamily
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
ANNOTATIONS: Final = "annotation_source", "annotation_target"

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1"
_DFKI: Final = "Avramidis 2012 (DFKI), section 2.2.1 (there counted on parses)"
_DCU: Final = "Rubino et al. 2012 (DCU-SYMC), sections 2.1 and 3.2"
_NOTES: Final = "QUALITY-NOTES, first study: part-of-speech counts and differences"
_OWN: Final = "this project: total variation distance of the tag distributions"


@dataclass(frozen=True)
class PartsOfSpeech(ColumnFamily):
    """Counts, shares, differences and ratios of universal parts of speech: `COLUMNS`.

    Tags come from the segments' annotations (CoNLL-U); other tags count in the length only. Shares are NaN
    for a text without tokens, ratios if the denominator is 0.

    Raises InputError if an annotation is missing, or does not match the tokens.
    """

    plain: ClassVar[str] = "how many nouns, verbs and other kinds of words the {text} has"

    @property
    def columns(self) -> Sequence[Column["_Pair"]]:
        return COLUMNS

    def requires(self) -> tuple[str, ...]:
        return ANNOTATIONS

    def prepared(self, segments: Segments) -> "_Pair":
        sides = zip(ANNOTATIONS, (segments.source_tokens, segments.target_tokens), strict=True)
        return _Pair(*(_Side(layer_tokens(segments.require(c), t, "upos", c)) for c, t in sides))


@dataclass(frozen=True, eq=False)
class _Side:
    tags: Tokens

    @cached_property
    def by_tag(self) -> FloatArray:
        known = {tag: i for i, tag in enumerate(UPOS)}
        size = len(UPOS) + 1  # the last one: other tags
        by_type = np.array([known.get(tag, len(UPOS)) for tag in self.tags.types], np.int64)
        cells = self.tags.text_index * size + by_type[self.tags.ids]
        counts = np.bincount(cells, minlength=len(self.tags) * size).reshape(-1, size)
        return counts[:, :-1].astype(np.float64)

    def count(self, group: str) -> FloatArray:
        return np.asarray(self.by_tag[:, [UPOS.index(tag) for tag in GROUPS[group]]].sum(axis=1), np.float64)

    def share(self, group: str) -> FloatArray:
        return ratio(self.count(group), self.tags.lengths)


@dataclass(frozen=True, eq=False)
class _Pair:
    source: _Side
    target: _Side

    def side(self, name: str) -> _Side:
        return self.source if name == "source" else self.target


def _of_side(pair: _Pair, side: str, group: str, share: bool) -> FloatArray:
    return pair.side(side).share(group) if share else pair.side(side).count(group)


def _difference(pair: _Pair, group: str) -> FloatArray:
    return pair.source.count(group) - pair.target.count(group)


def _absolute_difference(pair: _Pair, group: str) -> FloatArray:
    return np.abs(_difference(pair, group))


def _ratio(pair: _Pair, group: str) -> FloatArray:
    return ratio(pair.target.count(group), pair.source.count(group))


def _share_ratio(pair: _Pair, group: str) -> FloatArray:
    return ratio(pair.source.share(group), pair.target.share(group))


def _content_to_function(pair: _Pair, side: str) -> FloatArray:
    return ratio(pair.side(side).count("pos_content"), pair.side(side).count("pos_function"))


def _distance(pair: _Pair) -> FloatArray:
    shares = [ratio(side.by_tag, side.tags.lengths[:, None]) for side in (pair.source, pair.target)]
    return np.asarray(np.abs(shares[0] - shares[1]).sum(axis=1) / 2, np.float64)


def _of_group(group: str) -> Iterator[Column[_Pair]]:
    what = "words tagged " + " or ".join(GROUPS[group])
    counted = {"pos_prepositions_conjunctions": _DCU, "pos_content": _WLV, "pos_function": _WLV}.get(
        group, _DFKI
    )
    for side, origin in (("source", _WLV), ("target", _DCU)):
        count, share = (partial(_of_side, side=side, group=group, share=share) for share in (False, True))
        yield Column(f"{group}_{side}", f"{side}: {what}", counted, "words", count)
        yield Column(f"{group}_{side}_share", f"{side}: share of {what}", origin, "share", share)
    for name, text, unit, origin, function in (
        ("difference", "source less target", "words", _NOTES, _difference),
        ("absolute_difference", "|source - target|", "words", _NOTES, _absolute_difference),
        ("ratio", "target / source; NaN if the source has none", "ratio", _DFKI, _ratio),
    ):
        yield Column(f"{group}_{name}", f"{what}, {text}", origin, unit, partial(function, group=group))


def _columns() -> Iterator[Column[_Pair]]:
    for group in GROUPS:
        yield from _of_group(group)
    for group in ("pos_nouns", "pos_verbs", "upos_pron"):
        yield Column(
            f"{group}_ratio_of_shares",
            f"share of {' or '.join(GROUPS[group])}, source / target; NaN if the target has none",
            _WLV,
            "ratio",
            partial(_share_ratio, group=group),
        )
    for side in ("source", "target"):
        yield Column(
            f"pos_content_to_function_{side}",
            f"{side}: content words / function words; NaN without function words",
            _WLV,
            "ratio",
            partial(_content_to_function, side=side),
        )
    yield Column(
        "pos_distance",
        "half the sum over tags of |share in the source - share in the target|; NaN if a side is empty",
        _OWN,
        "share",
        _distance,
    )


COLUMNS: Final = tuple(_columns())


_DCU_AMBIGUITY: Final = "DCU-SYMC at WMT12, section 3.2 (there TreeTagger's dictionary)"


_STATISTICS: Final = {"ambiguous": "that have several tags in", "unknown": "that are not in"}


@dataclass(frozen=True)
class TagAmbiguity(ColumnFamily):
    """Shares of words with several tags, and with none, in the annotated corpus."""

    plain: ClassVar[str] = "words of the {text} that may be nouns, verbs or others"

    source_tag_dictionary: TagDictionary
    target_tag_dictionary: TagDictionary

    @property
    def columns(self) -> Sequence[Column[Segments]]:
        return [
            Column(
                f"tags_{side}_{statistic}",
                f"{side}: share of tokens {what} the annotated corpus; undefined without tokens",
                _DCU_AMBIGUITY,
                "share",
                partial(self._share, side, statistic),
            )
            for side in ("source", "target")
            for statistic, what in _STATISTICS.items()
        ]

    def prepared(self, segments: Segments) -> Segments:
        return segments

    def _share(self, side: str, statistic: str, segments: Segments) -> FloatArray:
        dictionary: TagDictionary = getattr(self, f"{side}_tag_dictionary")
        tokens = segments.source_tokens if side == "source" else segments.target_tokens
        return dictionary.ambiguous(tokens) if statistic == "ambiguous" else dictionary.unknown(tokens)


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
