"""Annotation keys: base forms and parts of speech of words, aligned words and neighbours."""

from features.core.segments import Segments
from features.text.annotation import LAYERS, NOTHING, Layer
from features.text.tokens import Tokens
from features.word_level.columns import Longs
from features.word_level.keys import NOTHING as BEYOND
from features.word_level.keys import Keys, gap_sides, hashes, key_at, neighbour_keys, paired
from features.word_level.links import TokenLinks

_COLUMN = {"source": "annotation_source", "target": "annotation_target"}
_NEIGHBOURHOODS: tuple[Layer, ...] = ("upos", "xpos")  # few enough tags for three in a row


def annotation_keys(
    segments: Segments, links: TokenLinks, use: frozenset[str]
) -> tuple[dict[str, Keys], dict[str, Keys]]:
    """Keys of words and of gaps for target encodings, of the sides annotated in `use`. Raises InputError if
    an annotation does not fit the tokens.
    """
    words: dict[str, Keys] = {}
    gaps: dict[str, Keys] = {}
    for layer in LAYERS:
        sides = {side: hashes(_layer(segments, side, layer)) for side in _COLUMN if _COLUMN[side] in use}
        words |= {f"{layer}_{name}": keys for name, keys in _of_words(sides, segments, links, layer).items()}
        if "target" in sides:
            gap_keys = _of_gaps(sides["target"], segments.target_tokens.offsets)
            gaps |= {f"{layer}_{name}": keys for name, keys in gap_keys.items()}
    return words, gaps


def _layer(segments: Segments, side: str, layer: Layer) -> Tokens:
    tokens = segments.source_tokens if side == "source" else segments.target_tokens
    annotated = segments.source_annotated if side == "source" else segments.target_annotated
    layer_column = annotated.layer(layer).lower()
    if layer != "lemma":
        return layer_column
    keys_of_words = tokens.lower()
    texts = (
        [
            word if lemma == NOTHING else lemma
            for lemma, word in zip(layer_column.words(i), keys_of_words.words(i), strict=True)
        ]
        for i in range(len(tokens))
    )
    return Tokens.from_lists(texts)


def _of_words(sides: dict[str, Keys], segments: Segments, links: TokenLinks, layer: Layer) -> dict[str, Keys]:
    target, source = segments.target_tokens.offsets, segments.source_tokens.offsets
    around = layer in _NEIGHBOURHOODS
    keys: dict[str, Keys] = {}
    if "source" in sides:
        other = sides["source"]
        keys["source"] = aligned = key_at(other, links.best)
        if around:
            before, after = (key_at(neighbour_keys(other, source, by), links.best) for by in (-1, 1))
            keys["source_around"] = paired(paired(before, aligned), after)
    if "target" in sides:
        keys_of_words = sides["target"]
        before, after = neighbour_keys(keys_of_words, target, -1), neighbour_keys(keys_of_words, target, 1)
        keys |= {
            "target": keys_of_words,
            "before": paired(before, keys_of_words),
            "after": paired(keys_of_words, after),
        }
        if around:
            keys["around"] = paired(paired(before, keys_of_words), after)
    if len(sides) == 2:
        keys["pair"] = pair = paired(keys_of_words, aligned)
        if around:
            keys["pair_around"] = paired(
                pair,
                paired(neighbour_keys(keys_of_words, target, -1), neighbour_keys(keys_of_words, target, 1)),
            )
    return keys


def _of_gaps(keys_of_words: Keys, offsets: Longs) -> dict[str, Keys]:
    left, right = gap_sides(keys_of_words, offsets, BEYOND)
    before, _ = gap_sides(neighbour_keys(keys_of_words, offsets, -1), offsets, BEYOND)
    _, after = gap_sides(neighbour_keys(keys_of_words, offsets, 1), offsets, BEYOND)
    both = paired(left, right)
    return {"both": both, "before_both": paired(before, both), "both_after": paired(both, after)}
