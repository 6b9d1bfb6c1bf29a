"""Scorer: rows in, one output row for each; scores, intervals and reasons; repeated segments scored once."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from features.core.errors import InputError
from qe import tables
from qe.drift import Counts, Profile, Rows
from qe.explanation import Background, Explainer
from qe.intervals import Intervals
from qe.model import Model
from qe.tables import Row, unusable
from qe.word_level import WordLevel

CACHE = 100_000
CACHE_WITH_TOKENS = 10_000  # some kilobytes each

Output = dict[str, Any]
_Known = tuple[Output, bytes]  # the output, and what the segment adds to the counts of drift


@dataclass(frozen=True)
class Options:
    """What is asked for beside the score.

    level    of prediction intervals (columns `low` and `high`), such as 0.9
    explain  how many features the column `because` names; 0: no such column
    tokens   columns `tokens`, `bad` and `gaps`: P(BAD) of every target token and gap (qe/word_level.py)
    drift    whether segments are counted beside the training data's profile (where the model has one)
    cache    distinct segments that a process remembers, the oldest dropped first; 0: none
    """

    level: float | None = None
    explain: int = 0
    tokens: bool = False
    drift: bool = True
    cache: int = CACHE

    def __post_init__(self) -> None:
        if self.level is not None and not 0 < self.level < 1:
            raise InputError(f"--interval lies between 0 and 1, but got {self.level:g}", remedy="such as 0.9")

    @property
    def columns(self) -> tuple[str, ...]:
        """The output columns."""
        bounds = () if self.level is None else ("low", "high")
        because = ("because",) if self.explain else ()
        words = tables.LISTS if self.tokens else ()
        return ("id", "score", *bounds, *because, *words, "reason")


@dataclass(frozen=True)
class Batch:
    """Output rows, in order; how many took the score of an equal segment; what the scored ones look like."""

    rows: list[Output]
    repeated: int
    counts: Counts | None


@dataclass(eq=False)
class Scorer:
    """A model with what is asked for beside the score.

    A row's output is a function of the row alone, so that a remembered one is what would be computed again.
    """

    model: Model
    options: Options = Options()
    intervals: Intervals | None = None
    explainer: Explainer | None = None
    profile: Profile | None = None
    words: WordLevel | None = None
    _known: dict[bytes, _Known] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, options: Options) -> Self:
        """The model of the folder `path`.

        Raises InputError where it is no model or lacks what the options ask for.
        """
        intervals = None if options.level is None else Intervals.load(path)
        if intervals is not None and options.level is not None:
            intervals.quantile(options.level)
        model = Model.load(path)
        explainer = Explainer(model, Background.load(path)) if options.explain else None
        profile = Profile.load(path) if options.drift and Profile.is_in(path) else None
        words = WordLevel.of(model) if options.tokens else None
        return cls(model, options, intervals, explainer, profile, words)

    def score(self, rows: Sequence[Row], start: int = 0) -> Batch:
        """One output row per input row; a row that cannot be scored says why.

        `start` numbers rows that bring no id of their own (from 1).
        """
        needed = self.model.columns()
        reasons = [reason or unusable(columns, needed) for columns, reason in rows]
        keys = [None if reason else _key(row[0], needed) for reason, row in zip(reasons, rows, strict=True)]
        found: dict[bytes, _Known] = {}
        new: dict[bytes, Mapping[str, Any]] = {}
        for key, (columns, _) in zip(keys, rows, strict=True):
            if key in self._known:
                found[key] = self._known[key]
            elif key is not None:
                new.setdefault(key, columns)
        found |= self._computed(new)
        nothing = dict.fromkeys(self.options.columns)
        outputs = [
            {
                **(nothing if key is None else found[key][0]),
                "id": str(columns["id"]) if columns.get("id") is not None else str(start + i + 1),
                "reason": reason,
            }
            for i, ((columns, _), key, reason) in enumerate(zip(rows, keys, reasons, strict=True))
        ]
        used = [found[key][1] for key in keys if key is not None]
        counts = Rows.unpacked(used).counts() if used and self.profile is not None else None
        return Batch(outputs, len(used) - len(new), counts)

    def _computed(self, rows: Mapping[bytes, Mapping[str, Any]]) -> dict[bytes, _Known]:
        """The outputs of distinct segments, which are remembered."""
        if not rows:
            return {}
        # Own ids: those of the input may repeat, and no feature reads them unless the model asks.
        given = {name: [str(row[name]) for row in rows.values()] for name in self.model.columns()}
        segments = self.model.segments(given)
        features = self.model.features(segments)
        scores = self.model.predict_features(features)
        columns: dict[str, Sequence[Any]] = {
            "score": [None if math.isnan(score) else float(score) for score in scores]
        }
        if self.intervals is not None and self.options.level is not None:
            low, high = self.intervals.bounds(features.to_numpy(), scores, self.options.level)
            columns |= {"low": low.tolist(), "high": high.tolist()}
        if self.explainer is not None:
            columns["because"] = self.explainer.because(features, self.options.explain)
        if self.words is not None:
            columns |= self.words.columns(segments)
        outputs = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        looks = [b""] * len(rows)
        if self.profile is not None:
            looks = self.profile.rows(segments, features.to_numpy()).packed()
        computed = dict(zip(rows, zip(outputs, looks, strict=True), strict=True))
        self._remember(computed)
        return computed

    def _remember(self, computed: Mapping[bytes, _Known]) -> None:
        for key, known in computed.items():
            if len(self._known) >= self.options.cache:
                if not self._known:
                    return
                del self._known[next(iter(self._known))]
            self._known[key] = known


def _key(columns: Mapping[str, Any], needed: Sequence[str]) -> bytes:
    """Identifies the text that a score depends on."""
    state = hashlib.blake2b(digest_size=16)
    for name in needed:
        text = str(columns[name]).encode("utf-8", "surrogatepass")
        state.update(len(text).to_bytes(8, "little") + text)
    return state.digest()
