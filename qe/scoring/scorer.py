"""Scorer: rows in, one output row for each: scores, intervals and reasons."""

import hashlib
import json
import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from features.basics.errors import InputError
from features.basics.numerals import finite_or_none
from features.basics.plugins import version
from features.core.extractor import TableColumns
from features.core.segments import Segments
from features.core.tree_columns import numbers
from features.storage.files import digest
from features.word_level.places import judges
from features.word_level.tokens import forget_tables
from qe.data.table_rows import Row, chunks, needed_texts
from qe.display.summary import Printable
from qe.models.description import one_model
from qe.models.drift import Counts, DriftReport, Profile, Rows
from qe.models.explanation import Explainer
from qe.models.intervals import Intervals
from qe.models.model import Model
from qe.models.word_tags import WordTags
from qe.scoring.checks import Flags, kinds_of
from qe.scoring.row_formats import PROBABILITIES, Needs
from qe.scoring.settings import AddedColumns
from qe.scoring.word_level import WordLevel

CACHE = 100_000
_UNDEFINED = "the model gives no finite score"
_MAX_KEYS = 500  # of one query
PIECE = 500  # segments whose words are described at once
CACHE_WITH_TOKENS = 10_000  # some kilobytes each

Output = dict[str, Any]
_Result = tuple[Output, bytes]  # the output, and what the segment adds to the counts of drift


class Decision(Protocol):
    """What to do with a segment of a score; its `repr` says all that it depends on."""

    def action(self, prediction: float, outside: bool, /) -> str: ...


@dataclass(frozen=True)
class EarlierScores:
    """The outputs of an earlier job by the keys of their segments, in a database file: memory stays flat."""

    path: Path

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Output]:
        outputs: dict[bytes, Output] = {}
        for batch in chunks(keys, _MAX_KEYS):
            marks = ",".join("?" * len(batch))
            rows = self._database.execute(f"SELECT key, output FROM known WHERE key IN ({marks})", batch)
            outputs |= {key: json.loads(output) for key, output in rows}
        return outputs

    @cached_property
    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


@dataclass(frozen=True, kw_only=True)
class Options(AddedColumns):
    """Additional output columns, and settings of a process.

    Parameters
    ----------
    drift : bool, default=True
        Whether segments are compared with the training data's profile, if the model has one.
    cache : int, default=CACHE
        Distinct segments that a process remembers, the oldest dropped first; 0: none.
    triage : Decision or None, default=None
        Fills a column `action`; None: no such column.
    with_model : str, default=''
        Value of the column `model` in rows with a score; empty: no such column.
    """

    drift: bool = True
    cache: int = CACHE
    triage: Decision | None = None
    with_model: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The output columns; of words, those that every model with a word-level part gives."""
        return self.columns_with(PROBABILITIES if self.tokens else ())

    def columns_with(self, words: Sequence[str]) -> tuple[str, ...]:
        """The output columns, with those of words."""
        bounds = () if self.interval is None else ("low", "high")
        action = () if self.triage is None else ("action",)
        because = ("because",) if self.explain else ()
        flags = ("flags",) if self.flags else ()
        unlike = ("unlike",) if self.outside or self.triage is not None else ()
        outside = (*(("outside",) if self.outside else ()), *unlike)
        by = ("model",) if self.with_model else ()
        return ("id", "score", *bounds, *action, *because, *flags, *outside, *words, *by, "reason")

    @property
    def key(self) -> tuple[object, ...]:
        """All settings that the output depends on."""
        tagged = (self.tag_by,) if self.tokens else ()
        by = (self.with_model,) if self.with_model else ()
        imputed = (self.missing_columns,) if self.missing_columns == "impute" else ()
        further = (*tagged, *by, *imputed)
        return (self.columns, self.interval, self.explain, self.drift, repr(self.triage), *further)

    @property
    def metadata(self) -> dict[str, Any]:
        return {
            "interval": self.interval,
            "explain": self.explain,
            "tokens": self.tokens,
            "tags": self.tag_by if self.tokens else None,
            "triage": None if self.triage is None else repr(self.triage),
            "flags": self.flags,
            "outside": self.outside,
            "with-model": bool(self.with_model),
            **({"missing-columns": "impute"} if self.missing_columns == "impute" else {}),
        }


@dataclass(frozen=True)
class Tally:
    """Counts of output rows, which add up; the empty one of the `reasons` counts rows with a score."""

    reasons: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    reused: int = 0
    counts: Counts | None = None
    routed: Mapping[str, "Tally"] = field(default_factory=dict)

    @classmethod
    def from_rows(cls, rows: Sequence[Output], repeated: int, **further_counts: Any) -> Self:
        actions = Counter(row["action"] for row in rows if row.get("action"))
        flagged = Counter(kind for row in rows for kind in kinds_of(row.get("flags")))
        return cls(Counter(row["reason"] for row in rows), actions, flagged, repeated, **further_counts)

    def __add__(self, tally: "Tally") -> "Tally":
        counts = self.counts or tally.counts
        if self.counts is not None and tally.counts is not None:
            counts = self.counts + tally.counts
        routes = {**self.routed, **tally.routed}
        return Tally(
            self.reasons + tally.reasons,
            self.actions + tally.actions,
            self.flagged + tally.flagged,
            self.repeated + tally.repeated,
            self.reused + tally.reused,
            counts,
            {name: self.routed.get(name, Tally()) + tally.routed.get(name, Tally()) for name in routes},
        )

    @property
    def rows(self) -> int:
        return sum(self.reasons.values())

    def drift(self, profile: Profile | None) -> DriftReport | None:
        return None if profile is None or self.counts is None else profile.report(self.counts)

    def to_json(self) -> dict[str, Any]:
        routed = {name: part.to_json() for name, part in self.routed.items()}
        return {**vars(self), "counts": self.counts and self.counts.to_json(), "routed": routed}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        counters = {name: Counter(content[name]) for name in ("reasons", "actions", "flagged")}
        counts = content["counts"]
        routed = {name: cls.from_json(part) for name, part in content["routed"].items()}
        values = {"counts": counts and Counts.from_json(counts), "routed": routed}
        return cls(**{**content, **counters, **values})


@dataclass(frozen=True)
class Batch:
    """Output rows, in order, and their counts."""

    rows: list[Output]
    tally: Tally


@dataclass(eq=False)
class Scorer(Printable):
    """A model with the options of scoring; a row's output depends on the row alone."""

    model: Model
    options: Options = Options()
    intervals: Intervals | None = None
    explainer: Explainer | None = None
    profile: Profile | None = None
    words: WordLevel | None = None
    flags: Flags | None = None
    earlier_scores: EarlierScores | None = None
    _cache: OrderedDict[bytes, _Result] = field(default_factory=OrderedDict)

    @classmethod
    def load(
        cls, path: Path, options: Options, model: Model | None = None, identity: str | None = None
    ) -> Self:
        """The model of the folder `path` (or `model`, loaded already), with the fingerprint `identity`."""
        with one_model(path, identity if model is None else model.identity):
            intervals = None if options.interval is None else Intervals.load(path)
            if intervals is not None and options.interval is not None:
                intervals.check_level(options.interval)
            model = model or Model.load(path)
            if intervals is not None:
                intervals.check(len(model.feature_set.names), path)
            explainer = Explainer.load(model, path) if options.explain else None
            profile = Profile.load(path) if options.drift and Profile.exists(path) else None
            if profile is not None:
                profile.check(model.feature_set.names, path)
            words = None
            if options.tokens:
                words = WordLevel.from_model(model, WordTags.find(path), options.tag_by)
            flags = Flags.from_model(model) if options.flags else None
            if options.outside and model.guard is None:
                raise InputError(
                    f"the model '{model.name}' has no guard, which marks what is unlike the training data",
                    remedy="train it with `guard: true`",
                )
            return cls(model, options, intervals, explainer, profile, words, flags)

    @property
    def identity(self) -> str:
        return self.model.identity or ""

    @property
    def recipe(self) -> str:
        """Fingerprint of everything but the row that a row's output depends on."""
        return digest(version(), self.model.identity, self.model.feature_set.fingerprint, *self.options.key)

    @property
    def languages(self) -> tuple[str, str]:
        return languages_of(self.model)

    @cached_property
    def needs(self) -> Needs:
        return replace(needs_of(self.model), columns=self.columns(), table_columns=self.table_columns)

    @property
    def lacking(self) -> Mapping[str, str]:
        """Kinds of flags that cannot be looked for -> why."""
        return {} if self.flags is None else self.flags.lacking

    def profiles(self) -> Mapping[str, Profile | None]:
        return {}

    @property
    def output_columns(self) -> tuple[str, ...]:
        return self.options.columns_with(() if self.words is None else self.words.names)

    def columns(self) -> tuple[str, ...]:
        """The input columns that scores and intervals need."""
        more = () if self.intervals is None else self.intervals.columns
        may_lack = {name for name, column in self.table_columns.items() if column.optional}
        needed = (name for name in self.model.columns() if name not in may_lack)
        return tuple(dict.fromkeys((*needed, *more)))

    @cached_property
    def table_columns(self) -> TableColumns:
        """The columns that features read by name; the input may lack those that are optional."""
        columns = self.model.feature_set.table_columns
        if self.options.missing_columns == "error":
            return columns
        return {name: replace(column, optional=True) for name, column in columns.items()}

    def score(self, rows: Sequence[Row], start: int = 0) -> Batch:
        """One output row per row, with a reason if it has no score; rows are numbered from `start` + 1."""
        needs = self.needs
        texts = [
            ({}, reason) if reason else needed_texts(columns, needs.all, needs.table_columns)
            for columns, reason in rows
        ]
        keys = [None if reason else key_of(row) for row, reason in texts]
        new = {key: row for key, (row, _) in zip(keys, texts, strict=True) if key is not None}
        results = {key: self._cache[key] for key in new if key in self._cache}
        earlier: dict[bytes, Output] = {}
        if self.earlier_scores is not None:
            earlier = self.earlier_scores.get([key for key in new if key not in results])
        results |= {key: (output, b"") for key, output in earlier.items()}
        computed = self._computed({key: row for key, row in new.items() if key not in results})
        results |= computed
        nothing = dict.fromkeys(self.output_columns)
        outputs, profiled, reused = [], [], 0
        for number, ((columns, _), key, (_, reason)) in enumerate(
            zip(rows, keys, texts, strict=True), start + 1
        ):
            output, profile = (nothing, b"") if key is None else results[key]
            if key is not None and output["score"] is None:
                output, reason = nothing, _UNDEFINED
            elif key in earlier:
                reused += 1
            elif key is not None:
                profiled.append(profile)
            name = number if columns.get("id") is None else columns["id"]
            outputs.append({**output, "id": str(name), "reason": reason})
        counts = Rows.unpacked(profiled).counts() if profiled and self.profile is not None else None
        new_scores = sum(output["score"] is not None for output, _ in computed.values())
        tally = Tally.from_rows(outputs, len(profiled) - new_scores, reused=reused, counts=counts)
        return Batch(outputs, tally)

    def _computed(self, rows: Mapping[bytes, Mapping[str, str]]) -> dict[bytes, _Result]:
        if not rows:
            return {}
        # Without ids: those of the input may repeat, and no feature reads them unless the model needs them.
        texts = {name: [row[name] for row in rows.values()] for name in self.needs.all}
        segments = self.model.segments(texts)
        features = self._features(segments)
        scores, seen = self.model.judge(segments, features)
        columns: dict[str, Sequence[Any]] = {"score": [finite_or_none(score) for score in scores]}
        if self.intervals is not None and self.options.interval is not None:
            groups = next((texts[name] for name in self.intervals.columns), ())
            bounds = self.intervals.bounds(numbers(features), scores, self.options.interval, groups)
            for name, values in zip(("low", "high"), bounds, strict=True):
                columns[name] = [finite_or_none(value) for value in values]
        if self.options.triage is not None:
            marked = [False] * len(scores) if seen is None else seen.marked.tolist()
            columns["action"] = list(map(self.options.triage.action, scores.tolist(), marked))
        if self.explainer is not None and self.options.explain:
            columns["because"] = self.explainer.because(features, self.options.explain)
        if self.flags is not None:
            columns["flags"] = list(map(self.flags.text, segments.source, segments.target))
        if self.options.outside and seen is not None:
            columns["outside"] = seen.outside.tolist()
        if "unlike" in self.options.columns:
            columns["unlike"] = [""] * len(scores) if seen is None else seen.reasons()
        if self.words is not None:
            columns |= self.words.columns(segments)
        if self.options.with_model:
            columns["model"] = [self.options.with_model] * len(scores)
        outputs = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        profiles = [b""] * len(rows)
        if self.profile is not None:
            profiles = self.profile.rows(segments, numbers(features)).packed()
        computed = dict(zip(rows, zip(outputs, profiles, strict=True), strict=True))
        self._cache.update(computed)
        while len(self._cache) > self.options.cache:
            self._cache.popitem(last=False)
        forget_tables()
        return computed

    def _features(self, segments: Segments) -> pd.DataFrame:
        at_once = len(segments) <= PIECE or self.words is not None
        if at_once or not judges(self.model.feature_set.extractors):
            return self.model.features(segments)
        tables = []
        for start in range(0, len(segments), PIECE):
            piece = np.arange(start, min(start + PIECE, len(segments)))
            tables.append(self.model.features(segments.take(piece)))
            forget_tables()
        return pd.concat(tables)


def languages_of(model: Model) -> tuple[str, str]:
    source, target = model.tokenizers
    return source.language, target.language


def needs_of(model: Model) -> Needs:
    headers = model.about.get("headers")
    trained = headers if isinstance(headers, Mapping) else {}
    return Needs(model.columns(), f"the model '{model.name}'", trained, model.feature_set.table_columns)


def key_of(texts: Mapping[str, str]) -> bytes:
    """Identifies the text that a score depends on: that of `needed_texts`, in its order."""
    state = hashlib.blake2b(digest_size=16)
    for text in texts.values():
        content = text.encode()
        state.update(len(content).to_bytes(8, "little") + content)
    return state.digest()
