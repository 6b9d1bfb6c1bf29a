"""Files of a selection: chosen translations, preferences by segment and document, report."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from features.basics.array_types import FloatArray
from features.storage.files import atomic_file
from qe.data.writing import save_table
from qe.display.numbers import count, estimate, interval, number, p_value, percent, signed
from qe.display.table import Column, Table
from qe.statistics.settings import LEVEL
from qe.systems.documents import document_names
from qe.systems.text_metric import title_of
from qe_papers.selection.selection import By, Preferences, Selection, Translations


def selection_tables(selection: Selection, metrics: Sequence[str]) -> list[Table]:
    tables = [scores_table(selection, metrics), _tests(selection)]
    return [*tables, _documents(selection)] if selection.documents else tables


def scores_table(selection: Selection, metrics: Sequence[str] | None = None) -> Table:
    metrics = list(next(iter(selection.scores.values()))) if metrics is None else metrics
    names = selection.translations.names
    columns = [Column("translations", "choice"), *(Column(title_of(metric), metric) for metric in metrics)]
    columns += [Column(f"of {name}", drop=place) for place, name in enumerate(names, start=1)]
    rows = []
    for row, scores in selection.scores.items():
        shares = selection.shares.get(row)
        taken = [""] * len(names) if shares is None else [percent(share) for share in shares]
        rows.append([row, *(number(scores[m], 2) for m in metrics), *taken])
    return Table("", columns, rows)


def _tests(selection: Selection) -> Table:
    title = f"against always taking {selection.best} (p corrected, documents exchanged whole)"
    columns = [Column("translations", "choice"), Column("metric"), Column("difference")]
    columns += [Column("95 % interval", "interval"), Column("p"), Column("p (bootstrap)", drop=1)]
    rows = [
        [
            one.system, title_of(one.metric), signed(one.result.difference, 2), interval(one.ci, 2),
            *(p_value(tested.p_corrected, LEVEL, tested.result.undecided) for tested in (one, other)),
        ]
        for one, other in zip(selection.comparisons, selection.bootstrap, strict=True)
    ]  # fmt: skip
    return Table(title, columns, rows)


def _documents(selection: Selection) -> Table:
    columns = [Column("translations", "choice"), Column("documents")]
    columns += [Column("r"), Column("rAcc[2]"), Column("DeltaAvg[2]")]
    rows = []
    for name, report in selection.documents.items():
        figures = ((report.pearson, 3), (report.ranking_accuracy, 3), (report.delta_avg, 2))
        told = [estimate(one.value, one.ci, digits) for one, digits in figures]
        rows.append([name, count(report.documents), *told])
    return Table("document BLEU", columns, rows)


def write(
    folder: Path, translations: Translations, preferences: Mapping[str, Preferences], granularity: By,
    selection: Selection | None = None,
) -> None:  # fmt: skip
    """Writes translations, preferences by segment and document, and the report to `folder`, atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    systems = translations.names
    for name, preference in preferences.items():
        choice = preference.choice(granularity, translations.documents)
        with atomic_file(folder / f"{name}.txt") as path:
            path.write_text("".join(f"{line}\n" for line in translations.lines(choice)), "utf-8")
        rows = zip(range(1, len(translations) + 1), translations.documents, strict=True)
        _table(
            folder / f"{name}.tsv", ("segment", "document"), rows, [systems[i] for i in choice], systems,
            preference.segments,
        )  # fmt: skip
        documents = document_names(translations.documents)
        whole = [systems[i] for i in preference.documents.argmax(axis=0)]
        keys = ((document,) for document in documents)
        _table(folder / f"{name}.documents.tsv", ("document",), keys, whole, systems, preference.documents)
    if selection is not None:
        with atomic_file(folder / "report.json") as path:
            path.write_text(json.dumps(selection.to_json(), indent=1) + "\n", "utf-8")


def _table(
    path: Path, keys: Sequence[str], rows: Iterable[tuple[Any, ...]], system_names: Sequence[str],
    systems: Sequence[str], preferences: FloatArray,
) -> None:  # fmt: skip
    named = zip(rows, system_names, preferences.T.tolist(), strict=True)
    cells = [(*key, name, *values) for key, name, values in named]
    save_table(pd.DataFrame(cells, columns=[*keys, "chosen", *systems]), path)
