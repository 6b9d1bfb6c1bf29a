"""The effort report: edits, sets of segments, correlations; their tables."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.edits.edit_labels import (
    ALL,
    CATEGORIES,
    WORD_CLASSES,
    EditCounts,
    EditLabels,
    edit_counts,
    edit_labels,
)
from features.edits.ter import ter
from features.storage.files import digest
from features.text.annotation import UNKNOWN
from qe.display.files import plain_fields
from qe.display.numbers import NumberText, count, estimate, number, percent, starred
from qe.display.summary import Printable
from qe.display.table import Column, Table
from qe.statistics.settings import LEVEL
from qe_human.effort.correlations import Correlation, Draws, correlations
from qe_human.effort.sets import (
    AnnotatedTexts,
    Limits,
    MarkedSegment,
    SetPair,
    discrepancies,
    four_sets,
    marked_segment,
)

LOTS = 100  # other comparison sets that correlations are computed on
WHOLE, EQUAL_TER = "all segments", "all segments, TER held constant"


@dataclass(frozen=True, eq=False)
class EffortReport(Printable):
    """Edits, effort, and how they go together.

    Attributes
    ----------
    counts : EditCounts
        Words by segment, word class and category.
    table : DataFrame
        One row per segment: shares, see `EditCounts.table`.
    effort, ter : array of float
        (n,) scores (higher is less effort), edits per word of the post-edit (NaN: it is empty).
    pairs : pair of SetPair and SetPair
        The four sets, in two pairs.
    correlations : mapping of str to sequence of Correlation
        Population (all segments, the same with TER held constant, low TER, high TER) -> categories.
    telling : mapping of str to sequence of MarkedSegment
        Set (`low TER, low score`, ...) -> segments, the most telling first.
    notes : sequence of str
        What a reader must know.
    recipe : mapping of str to Any
        Settings, versions, fingerprints.
    """

    counts: EditCounts
    table: pd.DataFrame
    effort: FloatArray
    ter: FloatArray
    pairs: tuple[SetPair, SetPair]
    correlations: Mapping[str, Sequence[Correlation]]
    telling: Mapping[str, Sequence[MarkedSegment]]
    notes: Sequence[str]
    recipe: Mapping[str, Any]

    @property
    def sets(self) -> dict[str, NDArray[np.int64]]:
        return _named_sets(self.pairs)

    def to_json(self) -> dict[str, Any]:
        return plain_fields({
            "segments": len(self.effort),
            "sets": {name: self.describe(rows) for name, rows in self.sets.items()},
            "correlations": self.correlations, "notes": self.notes, "recipe": self.recipe,
        })  # fmt: skip

    def describe(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Number of segments, tokens of post-edits, shares by word class and category of some segments."""
        shares = self.counts.sums(rows)
        classes = zip((*WORD_CLASSES, ALL), shares, strict=True)
        return plain_fields({
            "segments": len(rows),
            "tokens": int(self.counts.post_edit[rows].sum()),
            "mean_ter": self.ter[rows].mean() if len(rows) else None,
            "mean_effort": self.effort[rows].mean() if len(rows) else None,
            "edited": edited(shares)[-1],
            "reordered": reordered(shares)[-1],
            "shares": {name: dict(zip(CATEGORIES, row, strict=True)) for name, row in classes},
            "rows": rows + 1,
        })  # fmt: skip

    def summary(self) -> Table:
        """The sets of segments whose scores do not fit their edits."""
        return sets_table(self)


def _named_sets(pairs: Sequence[SetPair]) -> dict[str, NDArray[np.int64]]:
    sets: dict[str, NDArray[np.int64]] = {}
    for pair in pairs:
        sets |= {f"{pair.name}, low score": pair.low, f"{pair.name}, high score": pair.high}
    return sets


def edited(shares: FloatArray) -> FloatArray:
    """Share (7,) of edited words by word class, last all."""
    return np.asarray(1 - shares[:, CATEGORIES.index("match")])


def reordered(shares: FloatArray) -> FloatArray:
    """Share (7,) of paired words that moved, by word class, last all."""
    return np.asarray(1 - shares[:, CATEGORIES.index("order_same")])


def analyse(
    target: AnnotatedTexts,
    post_edit: AnnotatedTexts,
    effort: FloatArray,
    *,
    source: Sequence[str] | None = None,
    limits: Limits | None = None,
    draws: Draws | None = None,
    telling: int = 10,
    recipe: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> EffortReport:
    """Compares n translations with their post-edits, and the edits with effort scores.

    effort   (n,) scores, higher is less effort
    telling  number of segments of each of the four sets that are marked word by word
    recipe   more to be stored with the report: files, tagger

    Raises InputError if the sides differ in number, a score is not finite, or no segment can be analysed.
    """
    limits, draws = limits or Limits(), draws or Draws()
    effort = _checked(target, post_edit, effort)
    sides = (target, post_edit)
    labels = edit_labels(
        *((getattr(target, x), getattr(post_edit, x)) for x in ("words", "lemmas", "classes"))
    )
    counts = edit_counts(labels, (target.classes, post_edit.classes))
    rates = ter(target.words.lower(), post_edit.words.lower()).rates
    if not np.isfinite(rates).any():
        raise InputError("all post-edits are empty", remedy="check the order of the files")
    pairs = four_sets(effort, rates, limits, draws.seed)
    table, data = counts.table(), _Scored(sides, effort, rates, pairs, limits, draws)
    texts = [layer.fingerprint for side in sides for layer in (side.words, side.lemmas, side.classes)]
    settings = {
        "limits": asdict(limits),
        **asdict(draws),
        "confidence": 0.95,
        "lots": LOTS,
        "texts": digest(*texts),
        "effort": digest(effort.tobytes()),
        "versions": {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "simplemma")},
    }
    return EffortReport(
        counts, table, effort, rates, pairs, _correlations(data, table, progress),
        _telling(data, labels, source, telling), _notes(data), {**settings, **(recipe or {})},
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Scored:
    sides: tuple[AnnotatedTexts, AnnotatedTexts]
    effort: FloatArray
    rates: FloatArray
    pairs: tuple[SetPair, SetPair]
    limits: Limits
    draws: Draws


def _checked(target: AnnotatedTexts, post_edit: AnnotatedTexts, effort: FloatArray) -> FloatArray:
    scores = np.asarray(effort, np.float64)
    if not len(target) == len(post_edit) == len(scores):
        raise InputError(
            f"{len(target)} translations, {len(post_edit)} post-edits and {len(scores)} effort scores",
            remedy="line i of all files must be the same segment",
        )
    if not np.isfinite(scores).all():
        raise InputError(f"segment {np.flatnonzero(~np.isfinite(scores))[0] + 1} has no effort score")
    return scores


def _correlations(data: _Scored, table: pd.DataFrame, progress: Progress) -> dict[str, list[Correlation]]:
    effort, rates, draws = data.effort, data.rates, data.draws
    lots = [four_sets(effort, rates, data.limits, draws.seed + lot) for lot in range(1, LOTS + 1)]
    everything = np.arange(len(effort))
    populations = {
        WHOLE: (everything, None, []),
        EQUAL_TER: (everything, rates, []),
        **{pair.name: (pair.rows, None, [lot[i].rows for lot in lots]) for i, pair in enumerate(data.pairs)},
    }
    return {
        name: correlations(table, effort, rows, control, others, draws, progress, f"correlations: {name}")
        for name, (rows, control, others) in populations.items()
    }


def _telling(
    data: _Scored, labels: EditLabels, source: Sequence[str] | None, count: int
) -> dict[str, list[MarkedSegment]]:
    discrepancy = discrepancies(data.effort, data.rates)

    def marked(row: int) -> MarkedSegment:
        text = None if source is None else source[row]
        score, rate, gap = (float(values[row]) for values in (data.effort, data.rates, discrepancy))
        return marked_segment(row, labels, data.sides, score, rate, gap, text)

    telling = {}
    for name, rows in _named_sets(data.pairs).items():
        defined = rows[np.isfinite(discrepancy[rows])]
        order = np.argsort(-np.abs(discrepancy[defined]), kind="stable")
        telling[name] = [marked(row) for row in defined[order[:count]].tolist()]
    return telling


def _notes(data: _Scored) -> list[str]:
    notes, rates = [], data.rates
    unknown, words = 0, 0
    for side in data.sides:
        known = np.array([name != UNKNOWN for name in side.classes.types], bool)[side.classes.ids]
        unknown, words = unknown + int((~known).sum()), words + len(known)
    if unknown:
        notes.append(
            f"{unknown:,} of {words:,} words have no known part of speech: they count as `other`, and never"
            " as a changed part of speech"
        )
    if np.isnan(rates).any():
        notes.append(f"{int(np.isnan(rates).sum())} segments have an empty post-edit: TER is undefined there")
    for pair in data.pairs:
        if not len(pair.low):
            notes.append(
                f"{pair.name}: no segment has {_wanted(pair, data.limits)}, or none the opposite score"
            )
            continue
        notes.append(
            f"{pair.name}: {len(pair.low)} segments against {len(pair.high)} that differ in TER by at most"
            f" {number(pair.difference)}"
        )
        if pair.unmatched:
            notes.append(f"{pair.name}: {pair.unmatched} more segments are within the limits, but no segment"
                         " was left to compare them with")  # fmt: skip
    return notes


def _wanted(pair: SetPair, limits: Limits) -> str:
    if pair.name.startswith("low"):
        return f"a score of at most {limits.low_effort:g} and a TER of at most {limits.low_ter:g}"
    return f"a score of at least {limits.high_effort:g} and a TER of at least {limits.high_ter:g}"


STRONGEST = 6  # correlations by word class that are shown of each population


def category_title(name: str) -> str:
    """The name of a category for people.

    >>> category_title("distance_2_or_more"), category_title("pos_changed")
    ('distance 2 or more', 'POS changed')
    """
    return name.replace("_", " ").replace("pos ", "POS ")


def sets_table(report: EffortReport) -> Table:
    """The four sets; Koponen 2012, table 1."""
    columns = [Column("set"), Column("segments"), Column("tokens", drop=3), Column("mean TER")]
    columns += [Column("mean score"), Column("edited words", drop=1), Column("reordered words", drop=2)]
    cells = []
    for name, rows in report.sets.items():
        described = report.describe(rows)
        means = [number(described[key], 2) for key in ("mean_ter", "mean_effort")]
        shares = [percent(described[key]) for key in ("edited", "reordered")]
        cells.append([name, count(described["segments"]), count(described["tokens"]), *means, *shares])
    return Table(f"{count(len(report.effort))} segments", columns, cells)


def correlations_table(report: EffortReport) -> Table:
    """Correlations over all words, with intervals; Koponen 2012, tables 2 and 3."""
    title = "Spearman with the score (higher: less effort), 95 % intervals"
    overall = [[c for c in found if c.word_class == ALL] for found in report.correlations.values()]
    rows = [
        [category_title(row[0].category), *map(correlation_cell, row)] for row in zip(*overall, strict=True)
    ]
    columns = [Column("category"), *map(Column, report.correlations)]
    note = f"p corrected ({report.recipe['correction']}) over all categories and word classes"
    return Table(title, columns, rows, [note])


def strongest_table(name: str, correlations: Sequence[Correlation], count: int) -> Table:
    known = [c for c in correlations if c.word_class != ALL and c.rho == c.rho]
    strongest = sorted(known, key=lambda c: -abs(c.rho))[:count]
    rows = [(f"{c.word_class}, {category_title(c.category)}", correlation_cell(c)) for c in strongest]
    return Table(f"strongest by word class, {name}", [Column("words"), Column("Spearman")], rows)


def correlation_cell(correlation: Correlation) -> NumberText:
    return starred(estimate(correlation.rho, correlation.ci, 2), correlation.p_corrected, LEVEL)
