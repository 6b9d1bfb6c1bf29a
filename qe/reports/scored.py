"""The page of a scored file: distribution, drift, actions, flags, and the segments to check first."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.extractor import VALUE
from features.core.segments import Segments
from features.storage.damage import read_json
from qe.data.table_rows import read_rows
from qe.display.charts import png
from qe.display.files import figures, render
from qe.display.numbers import count, general, interval, number, percent
from qe.display.table import Column, Table
from qe.evaluation.plots import ShownSegment, score_distributions, words_of
from qe.models import description
from qe.models.card import origin
from qe.models.guard.guard import Guard
from qe.models.model import Model
from qe.models.training_rows import HeldOutPredictions
from qe.production.triage import ACTIONS, Thresholds, closed_scale, cost_table, read_costs
from qe.scoring.checks import kinds_of
from qe.scoring.job_summary import check_model, record_of, summary_of
from qe.scoring.row_formats import Names
from qe.scoring.scorer import Options, Scorer

SHOWN = 20
_SCORED_AGAIN = 20  # rows whose scores are compared with the model's
_QUANTILES = dict(
    zip(
        ("worst tenth", "lower quartile", "median", "upper quartile", "best tenth"),
        (0.1, 0.25, 0.5, 0.75, 0.9),
        strict=True,
    )
)
_SHIFTS = 8  # features shown that differ most
_FLAGGED = "Segments with a critical error of each kind, as far as rules see it"


def scored_page(
    scored: Path,
    model: Path,
    *,
    identity: str | None = None,
    drift: Path | None = None,
    costs: Path | None = None,
    summary: Path | None = None,
    worst: int | None = None,
) -> str:
    """The page of an output of `qe score` with that model, with drift, actions by costs, and summary.

    worst  number of segments shown, of the worst scores; None: 20
    """
    with description.one_model(model, identity) as fingerprint:
        record = record_of(scored) if summary is None else summary_of(summary, scored, fingerprint)
        if record is not None:
            check_model(record, scored, fingerprint)
        report = record and record.get("drift")
        if drift is not None:
            report = read_json("the drift report", drift, "write it again with `qe score --drift`")
            if {"n", "shifts", "warnings"} - set(report):
                remedy = "give what `qe score --drift` writes"
                raise InputError("is no drift report", location=drift, remedy=remedy)
        provenance = ""
        if record is not None:
            maker = record["model"]
            version = f"version {maker['version']} of {maker['registered']}, " if maker["version"] else ""
            begun = f"{record['begun']} " if "begun" in record else ""
            provenance = f" Scored {begun}by {version}fingerprint {maker['fingerprint'][:12]}."
        return _page(scored, model, report, costs, provenance, worst or SHOWN)


def _verdict(
    scores: FloatArray,
    training: FloatArray | None,
    rows: Sequence[Mapping[str, Any]],
    drift: Mapping[str, Any] | None,
) -> str:
    median = f"Half of the segments score {number(float(np.median(scores)), 2)} or more"
    usual = "" if training is None else f" (in training: {number(float(np.median(training)), 2)})"
    counts = {"have flags": "flags", "are unlike the training data": "unlike"}
    parts = [
        f"{count(sum(bool(row.get(key)) for row in rows))} {phrase}"
        for phrase, key in counts.items()
        if any(key in row for row in rows)
    ]
    departs = " The file departs from the training data: its scores are less sure." * bool(
        drift and drift["warnings"]
    )
    return f"{'; '.join([median + usual, *parts])}.{departs}"


def _page(
    scored: Path, model: Path, drifted: Mapping[str, Any] | None, costs: Path | None, provenance: str,
    worst: int,
) -> str:  # fmt: skip
    rows = _rows(scored)
    described = description.read(model)
    scale = described.scale
    good = _with_marks([row for row in rows if row["score"] is not None], model, described)
    scores = np.array([row["score"] for row in good], np.float64)
    if not len(scores):
        raise InputError("no row has a score", location=scored)
    scorer = Scorer.load(model, Options(drift=False))
    _check_model(scorer, good, scored)
    training = HeldOutPredictions.load(model).predicted if HeldOutPredictions.exists(model) else None
    order = np.argsort(scale.sign * scores, kind="stable")[:worst]
    segments = [_segment(good[i]) for i in order]
    bands = (
        None
        if costs is None
        else _bands(good, model, costs, Thresholds.from_file(costs, model, closed_scale(described)))
    )
    reasons = Counter(row["reason"] for row in rows if row["score"] is None).most_common()
    flags = sorted(Counter(kind for row in good for kind in kinds_of(row.get("flags"))).items())
    return render(
        "qe.reports",
        "scored.html",
        {"number": number},
        title=scored.name,
        verdict=_verdict(scores, training, good, drifted),
        lead=f"{len(good):,} of {len(rows):,} rows scored by {described.name}: predicted {scale.name}, "
        f"{'higher' if scale.higher_is_better else 'lower'} is better.{provenance}",
        languages=tuple(tokenizer.language for tokenizer in described.tokenizers),
        pictures=figures(
            {_distribution_text(scores, training): png(score_distributions(scores, training, scale))}
        ),
        distributions=_distributions(scores, training, scale.sign).html(),
        reasons=reasons and _counted("Rows without a score", "reason", "rows", reasons).html(),
        drift=drifted,
        shifts=drifted and _shifts(drifted, scorer.model).html(),
        bands=bands and bands.html(),
        flags=flags and _counted(_FLAGGED, "kind", "segments", flags).html(),
        outside=_outside(good),
        segments=segments,
        segment_note=f"The {len(segments)} segments of the worst scores."
        if any(segment.source is not None for segment in segments)
        else "The file has no texts: score with --keep, and they are shown here.",
        coloured=any(segment.words for segment in segments),
        origin=origin(described),
        recipe=f"{scored.name} · model {described.name} · features {described.feature_fingerprint}",
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for row, problem in read_rows(path):
        missing = [name for name in ("score", "reason") if name not in row]
        if missing or problem:
            raise InputError(
                f"has no column '{missing[0]}'" if missing else f"has a row with {problem}",
                location=path,
                remedy="give a file that `qe score` has written",
            )
        try:
            rows.append({**row, "score": None if row["score"] in (None, "") else float(row["score"])})
        except (TypeError, ValueError):
            raise InputError(f"a score is no number: {row['score']!r}", location=path) from None
    return rows


def _check_model(scorer: Scorer, good: Sequence[Mapping[str, Any]], scored: Path) -> None:
    names = Names().completed(scorer.needs, list(good[0]), str(scored))
    texts = [name for name in scorer.needs.columns if name not in scorer.needs.table_columns]
    rows = [row for row in good if all(row.get(names.header(name)) is not None for name in texts)]
    again_scored = scorer.score([names.view((dict(row), "")) for row in rows[:_SCORED_AGAIN]]).rows
    for row, again in zip(rows, again_scored, strict=False):
        score = again["score"]
        if score is None or not math.isclose(row["score"], score, rel_tol=1e-6, abs_tol=1e-9):
            raise InputError(
                f"row {row.get('id', '?')} has the score {general(row['score'])}, but the model "
                f"'{scorer.model.name}' gives {'none' if score is None else general(score)}",
                location=scored,
                remedy="name the model that scored the file",
            )


def _distribution_text(scores: FloatArray, training: FloatArray | None) -> str:
    text = f"Histogram of the scores; their median is {number(float(np.median(scores)), 2)}"
    return text if training is None else f"{text}, that of training {number(float(np.median(training)), 2)}"


def _distributions(scores: FloatArray, training: FloatArray | None, sign: float) -> Table:
    both = {"this file": scores, **({} if training is None else {"training": training})}
    levels = np.array(list(_QUANTILES.values()))
    rows = [
        [name, count(len(values)), *map(number, (sign * np.quantile(sign * values, levels)).tolist())]
        for name, values in both.items()
    ]
    title = "Scores of this file, and out-of-fold scores of training rows"
    return Table(title, [Column(""), Column("segments"), *map(Column, _QUANTILES)], rows)


def _with_marks(
    rows: list[dict[str, Any]], model: Path, described: description.Description
) -> list[dict[str, Any]]:
    has_texts = all(isinstance(row.get(name), str) for row in rows for name in ("source", "target"))
    guard = Guard.find(model)
    if guard is None or not rows or not has_texts or "unlike" in rows[0]:
        return rows
    source, target = (tuple(str(row[name]) for row in rows) for name in ("source", "target"))
    first, second = described.tokenizers
    reasons = guard.see(Segments(source, target, first, second)).reasons()
    return [{**row, "unlike": reason} for row, reason in zip(rows, reasons, strict=True)]


def _outside(rows: Sequence[Mapping[str, Any]]) -> str:
    if not any("unlike" in row for row in rows):
        return "Rows unlike the training data are not marked: score with --outside, or with --keep."
    marked = sum(bool(row["unlike"]) for row in rows)
    total = count(len(rows))
    return f"{count(marked)} of {total} rows are unlike the translations that the model has learned from."


def _counted(title: str, kind: str, unit: str, counts: Iterable[tuple[str, int]]) -> Table:
    return Table(title, [Column(kind), Column(unit)], [[name, count(n)] for name, n in counts])


def _shifts(drift: Mapping[str, Any], model: Model) -> Table:
    phrases = dict(zip(model.feature_set.names, model.feature_set.plain(), strict=True))
    words = {name: phrase.replace(VALUE, "").strip() for name, phrase in phrases.items()}
    title = (
        "Features that differ most, by population stability index (above .25: a major shift, unless chance"
        " explains it)"
    )
    rows = [
        [words.get(each["name"], ""), number(each["psi"]), number(each["chance"]), each["name"]]
        for each in drift["shifts"][:_SHIFTS]
    ]
    return Table(title, [Column("what"), Column("index"), Column("chance"), Column("feature")], rows)


def _bands(rows: Sequence[Mapping[str, Any]], model: Path, costs: Path, decided: Thresholds) -> Table:
    actions = [decided.action(float(row["score"]), bool(row.get("unlike"))) for row in rows]
    rules, table = decided.rules(), None if costs.suffix.lower() == ".json" else read_costs(costs)
    means = {}
    if table is not None:
        data = HeldOutPredictions.load(model)
        losses = cost_table(data.gold, table, decided.scale)
        chosen = np.array([ACTIONS.index(decided.action(float(score))) for score in data.predicted])
        taken = [(k, action) for k, action in enumerate(ACTIONS) if (chosen == k).any()]
        means = {action: float(losses[chosen == k, k].mean()) for k, action in taken}
    columns = [Column("action"), Column("segments"), Column("share"), Column("scores", "rule")]
    columns += [] if table is None else [Column("expected cost", "cost")]
    lines = []
    for action in ACTIONS:
        n, mean = actions.count(action), means.get(action)
        cost = [] if table is None else [number(None if mean is None else n * mean, 1)]
        lines.append([action, count(n), percent(n / len(rows)), rules[action], *cost])
    if table is None:
        return Table("Actions by the thresholds", columns, lines, decided.notes)
    named = ", ".join(f"{name} {general(value)}" for name, value in table.model_dump().items())
    title, note = (
        "Cheapest actions; costs are those of held-out rows of such scores",
        f"Costs of a segment: {named}",
    )
    return Table(title, columns, lines, [note, *decided.notes])


def _segment(row: Mapping[str, Any]) -> ShownSegment:
    facts = [("segment", str(row.get("id", ""))), ("score", number(row["score"], 2))]
    if row.get("low") not in (None, ""):
        facts.append(("interval", interval((float(row["low"]), float(row["high"])), 2)))
    if row.get("action"):
        facts.append(("action", str(row["action"])))
    notes = [(name, str(row[name])) for name in ("unlike", "flags", "because") if row.get(name)]
    source, target = row.get("source"), row.get("target")
    if not isinstance(source, str) or not isinstance(target, str):
        return ShownSegment(None, None, facts, notes)
    return ShownSegment(source, target, facts, notes, words_of(row))
