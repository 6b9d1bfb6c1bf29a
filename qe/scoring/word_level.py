"""WordLevel: a trained model's tags for words, gaps and source words, and spans of BAD words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError, known_name
from features.core.segments import Segments
from features.word_level.places import Kind, Places, WordLevelExtractor, judges
from qe.models.model import Model
from qe.models.word_tags import DIGITS, METRICS, WordTags

PROBABILITIES: Mapping[Kind, str] = {"word": "bad", "gap": "gaps", "source": "source_bad"}
TAGS: Mapping[Kind, str] = {"word": "tags", "gap": "gap_tags", "source": "source_tags"}


@dataclass(frozen=True, eq=False)
class WordLevel:
    """The fitted word-level families of a model, with thresholds by `metric` (f1_mult or mcc)."""

    families: Mapping[Kind, WordLevelExtractor]
    learned: WordTags | None = None
    metric: str = METRICS[0]

    @classmethod
    def from_model(
        cls,
        model: Model,
        learned: WordTags | None = None,
        metric: str = METRICS[0],
        location: str = "--tokens",
    ) -> Self:
        known_name("metric of tags", metric, METRICS, location="--tags")
        extractors = model.feature_set.extractors
        families = {kind: extractors[i] for kind, i in judges(extractors).items()}
        if "word" not in families:
            problem = f"the model '{model.name}' has no word-level part"
            raise InputError(problem, location=location, remedy="train one with the features word_quality")
        word_level = {kind: each for kind, each in families.items() if isinstance(each, WordLevelExtractor)}
        return cls(word_level, learned, metric)

    @property
    def tagged(self) -> tuple[Kind, ...]:
        return () if self.learned is None else tuple(kind for kind in TAGS if kind in self.learned.places)

    @property
    def names(self) -> tuple[str, ...]:
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
        bad = {kind: each.rows() for kind, each in places.items()}
        tags: dict[Kind, list[BoolArray]] = {}
        if self.learned is not None:
            thresholds = {kind: self.learned.places[kind].threshold(self.metric) for kind in self.tagged}
            tags = {kind: [row >= minimum for row in bad[kind]] for kind, minimum in thresholds.items()}
        target, source = segments.target_tokens, segments.source_tokens
        tokens = [target.words(i) for i in range(len(target))]
        values: dict[str, list[list[Any]]] = {
            "tokens": tokens,
            "source_tokens": [source.words(i) for i in range(len(source))],
            **{PROBABILITIES[kind]: [row.tolist() for row in rows] for kind, rows in bad.items()},
            **{
                TAGS[kind]: [np.where(row, "BAD", "OK").tolist() for row in rows]
                for kind, rows in tags.items()
            },
        }
        if self.learned is not None and "word" in tags:
            gaps = tags.get("gap") or [np.zeros(len(row), np.bool_) for row in bad["gap"]]
            columns = zip(tokens, bad["word"], bad["gap"], tags["word"], gaps, strict=True)
            values["spans"] = [
                described(words, (bad_words, bad_gaps), (word_tags, gap_tags), self.learned.insertions)
                for words, bad_words, bad_gaps, word_tags, gap_tags in columns
            ]
        return {name: values[name] for name in self.names}

    def places(self, segments: Segments) -> dict[Kind, Places]:
        """P(BAD), calibrated where the model knows how, rounded as it is written."""
        kinds = [kind for kind in self.families if kind != "source" or kind in self.tagged]
        predicted = {
            family: family.places(segments) for family in {self.families[kind]: None for kind in kinds}
        }
        places = {}
        for kind in kinds:
            uncalibrated = predicted[self.families[kind]][kind]
            if self.learned is None or kind not in self.learned.places:
                bad = np.asarray(np.round(uncalibrated.bad.astype(np.float64), DIGITS), np.float64)
            else:
                bad = self.learned.places[kind].probability(uncalibrated.bad)
            places[kind] = Places(bad, uncalibrated.offsets)
        return places


def bad_spans(words: BoolArray, gaps: BoolArray) -> list[tuple[int, int]]:
    """(first word, word after the last) of every run of BAD words, in order.

    A BAD gap without an adjacent BAD word is an empty span: both ends are the word after it.
    """
    steps = np.diff(np.concatenate([[0], words.astype(np.int8), [0]]))
    runs = zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True)
    adjacent = np.concatenate([[False], words]) | np.concatenate([words, [False]])
    isolated = np.flatnonzero(gaps & ~adjacent).tolist()
    return sorted([*runs, *((place, place) for place in isolated)])


def described(
    tokens: Sequence[str],
    bad: tuple[FloatArray, FloatArray],
    tags: tuple[BoolArray, BoolArray],
    insertions: float,
) -> list[dict[str, Any]]:
    """The spans of one translation as JSON values, by P(BAD) and tags of words (n,) and of gaps (n + 1,).

    start, end  the span is tokens[start:end]
    text        the words; empty if words are missing between two good ones
    mass        expected number of BAD words, and of BAD gaps in the span and next to it
    edits       expected number of words that are replaced, deleted or inserted
    """
    words, gaps = bad
    spans = []
    for start, end in bad_spans(*tags):
        bad_words, bad_gaps = float(words[start:end].sum()), float(gaps[start : end + 1].sum())
        spans.append(
            {
                "start": start,
                "end": end,
                "text": " ".join(tokens[start:end]),
                "mass": round(bad_words + bad_gaps, DIGITS),
                "edits": round(bad_words + insertions * bad_gaps, DIGITS),
            }
        )
    return spans
