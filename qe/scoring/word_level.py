"""WordLevel: a trained model's tags for words, gaps and source words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError, unknown_name
from features.core.segments import Segments
from features.word_level.places import Kind, Places, WordLevelExtractor, judges
from qe.models.model import Model
from qe.models.word_tags import DIGITS, METRICS, WordTags
from qe.scoring.spans import described

PROBABILITIES: Mapping[Kind, str] = {"word": "bad", "gap": "gaps", "source": "source_bad"}
TAGS: Mapping[Kind, str] = {"word": "tags", "gap": "gap_tags", "source": "source_tags"}


@dataclass(frozen=True, eq=False)
class WordLevel:
    """The fitted word-level families of a model, by what they judge.

    If several judge the same, the ones that see most are taken.

    learned  what makes tags of their P(BAD); None: the model only says P(BAD) of target words and gaps
    metric   f1_mult or mcc: whose thresholds make the tags
    """

    families: Mapping[Kind, WordLevelExtractor]
    learned: WordTags | None = None
    metric: str = METRICS[0]

    @classmethod
    def of(
        cls,
        model: Model,
        learned: WordTags | None = None,
        metric: str = METRICS[0],
        location: str = "--tokens",
    ) -> Self:
        """Raises InputError for a model without a word-level part, and an unknown metric.

        `where`: what asks for it.
        """
        if metric not in METRICS:
            raise unknown_name("metric of tags", metric, METRICS, location="--tags")
        extractors = model.feature_set.extractors
        families = {kind: extractors[i] for kind, i in judges(extractors).items()}
        if "word" not in families:
            raise InputError(
                f"the model '{model.name}' has no word-level part",
                location=location,
                remedy="train one with the features word_quality",
            )
        of_words = {kind: one for kind, one in families.items() if isinstance(one, WordLevelExtractor)}
        return cls(of_words, learned, metric)

    @property
    def tagged(self) -> tuple[Kind, ...]:
        """The kinds of places that are tagged."""
        return () if self.learned is None else tuple(kind for kind in TAGS if kind in self.learned.places)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it gives."""
        target = tuple(TAGS[kind] for kind in self.tagged if kind != "source")
        spans = ("spans",) if "word" in self.tagged else ()
        source = ("source_tokens", "source_bad", "source_tags") if "source" in self.tagged else ()
        return ("tokens", "bad", "gaps", *target, *spans, *source)

    def columns(self, segments: Segments) -> dict[str, list[list[Any]]]:
        """Per segment, lists of what `names` says.

        tokens (n), bad (n) and gaps (n + 1: before each token, and after the last): P(BAD), rounded to six
        digits after the point; tags (n) and gap_tags (n + 1): OK or BAD; spans of BAD words
        (`qe/scoring/spans.py`); source_tokens (m), source_bad (m), source_tags (m).
        """
        places = self.places(segments)
        bad = {kind: one.rows() for kind, one in places.items()}
        tags = {kind: [self._tags(kind, row) for row in bad[kind]] for kind in self.tagged}
        target, source = segments.target_tokens, segments.source_tokens
        tokens = [target.words(i) for i in range(len(target))]
        values: dict[str, list[list[Any]]] = {
            "tokens": tokens,
            "source_tokens": [source.words(i) for i in range(len(source))],
            **{PROBABILITIES[kind]: [row.tolist() for row in rows] for kind, rows in bad.items()},
            **{TAGS[kind]: [_named(row) for row in rows] for kind, rows in tags.items()},
        }
        if "word" in tags:
            values["spans"] = self._spans(tokens, bad, tags)
        return {name: values[name] for name in self.names}

    def places(self, segments: Segments) -> dict[Kind, Places]:
        """P(BAD), calibrated where the model knows how, rounded as it is written."""
        said: dict[WordLevelExtractor, Mapping[Kind, Places]] = {}
        places: dict[Kind, Places] = {}
        for kind, family in self.families.items():
            if kind == "source" and kind not in self.tagged:
                continue
            if family not in said:
                said[family] = family.places(segments)
            places[kind] = self._calibrated(kind, said[family][kind])
        return places

    def _calibrated(self, kind: Kind, places: Places) -> Places:
        if self.learned is None or kind not in self.learned.places:
            rounded = np.round(places.bad.astype(np.float64), DIGITS)
            return Places(np.asarray(rounded, np.float64), places.offsets)
        return Places(self.learned.places[kind].probability(places.bad), places.offsets)

    def _tags(self, kind: Kind, bad: FloatArray) -> BoolArray:
        assert self.learned is not None
        return np.asarray(bad >= self.learned.places[kind].threshold(self.metric))

    def _spans(
        self, tokens: list[list[str]], bad: dict[Kind, list[FloatArray]], tags: dict[Kind, list[BoolArray]]
    ) -> list[list[Any]]:
        assert self.learned is not None
        gaps = tags.get("gap") or [np.zeros(len(row), np.bool_) for row in bad["gap"]]
        columns = zip(tokens, bad["word"], bad["gap"], tags["word"], gaps, strict=True)
        return [
            described(words, (of_words, of_gaps), (bad_words, bad_gaps), self.learned.insertions)
            for words, of_words, of_gaps, bad_words, bad_gaps in columns
        ]


def _named(tags: BoolArray) -> list[str]:
    return ["BAD" if tag else "OK" for tag in tags.tolist()]
