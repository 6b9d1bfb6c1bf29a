"""Lexicon columns: how well the words of the two sides translate each other (IBM Model 1)."""

import numpy as np

from features.core.segments import Segments
from features.resources.lexicon import Lexicon
from features.text.tokens import segment_mean
from features.word_level.columns import Columns, Floats, shifted, spread, values_at
from features.word_level.links import TokenLinks

_FLOOR = 1e-7


def translation_columns(
    segments: Segments, links: TokenLinks, forward: Lexicon, backward: Lexicon
) -> Columns:
    """Natural-language pairs: `forward` is t(target | source), `backward` t(source | target)."""
    source, target = segments.source_tokens, segments.target_tokens
    there = forward.score(source, target)
    back = backward.score(target, source)
    mean, highest = np.log10(there.probability), np.log10(there.maximum)
    source_highest = np.log10(back.maximum)
    own, other = _pair(segments, links, forward, backward)
    given = source.lower().ids_in(forward.source)
    return {
        "ibm_mean": mean,
        "ibm_highest": highest,
        "ibm_highest_next": shifted(highest, target.offsets, 1),
        "ibm_highest_previous": shifted(highest, target.offsets, -1),
        "ibm_pair": own,
        "ibm_pair_back": other,
        "ibm_source_highest": values_at(source_highest, links.best),
        "ibm_entropy": values_at(forward.entropies[given], links.best),
        "ibm_choices": values_at(forward.translations_above(0.05)[given], links.best),
        "ibm_segment": spread(segment_mean(highest, target.offsets), target.offsets),
        "ibm_source_segment": spread(segment_mean(source_highest, source.offsets), target.offsets),
    }


def _pair(
    segments: Segments, links: TokenLinks, forward: Lexicon, backward: Lexicon
) -> tuple[Floats, Floats]:
    source, target = segments.source_tokens.lower(), segments.target_tokens.lower()
    linked = np.flatnonzero(links.best >= 0)
    there = links.best[linked]
    result = np.full((2, len(links.best)), np.nan)
    t = forward.probability(source.ids_in(forward.source)[there], target.ids_in(forward.target)[linked])
    back = backward.probability(target.ids_in(backward.source)[linked], source.ids_in(backward.target)[there])
    result[0, linked] = np.log10(np.maximum(t, _FLOOR))
    result[1, linked] = np.log10(np.maximum(back, _FLOOR))
    return result[0], result[1]
