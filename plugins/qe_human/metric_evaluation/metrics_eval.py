"""Folders of google-research/mt-metrics-eval: one test set, all its language pairs.

`human-scores/LP.NAME.LEVEL.score` and `metric-scores/LP/METRIC-REFERENCE.LEVEL.score`, lines of system and
score, segments of a system in the order of `sources/LP.txt`; LEVEL is seg or sys here (domain and doc are not
read); None is a missing score. `references/LP.NAME.txt` names the references, which may be among the systems.
Scores of systems are those of sys.score files; means of segments count if no metric has such a file.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from features.basics.errors import InputError, unknown_name
from features.storage.files import read_lines
from qe.data.reading import number_in, number_problem
from qe_human.metric_evaluation.scores import ScoreTable

_LEVELS = ("seg", "sys")


def read_metrics_eval(
    folder: Path,
    pair: str | None,
    gold: str | None,
    metric_names: Sequence[str] | None,
    references: bool = False,
) -> tuple[str, ScoreTable, list[ScoreTable], list[str]]:
    """The language pair, people's scores, metrics' scores, and notes.

    pair        language pair such as en-de; may be left out if there is one
    gold        which human scores; may be left out if there is one kind
    only        metrics to read, by their name with or without references; default: all
    references  whether references that were scored like systems stay among them

    Raises InputError for a folder of another kind, unknown names, and files whose lines do not fit.
    """
    scores = _human_files(folder)
    pair = _choice(pair, sorted({lp for lp, _ in scores}), "language pair", "--pair", folder)
    kinds = sorted({name for lp, name in scores if lp == pair})
    gold = _choice(gold, kinds, "human score", "--gold", folder)
    lines = _segments(folder, pair)
    human = _read(gold, [scores[pair, gold]], lines)
    files = _metric_files(folder, pair)
    names = _wanted(files, metric_names)
    metrics = [_read(name, [files[name]], lines) for name in names]
    notes = [f"people's scores: {gold}", *_official_scores(human, metrics)]
    named = {path.name.split(".")[1] for path in (folder / "references").glob(f"{pair}.*.txt")}
    scored = {system for system, _ in human.segments} | set(human.systems)
    if not references and named & scored:
        notes.append(f"references are no systems here: {', '.join(sorted(named & scored))}")
        human.segments = {key: v for key, v in human.segments.items() if key[0] not in named}
        human.systems = {key: v for key, v in human.systems.items() if key not in named}
    return pair, human, metrics, notes


def _human_files(folder: Path) -> dict[tuple[str, str], dict[str, Path]]:
    files: dict[tuple[str, str], dict[str, Path]] = {}
    for path in sorted((folder / "human-scores").glob("[!.]*.score")):
        pair, *name, level, _ = path.name.split(".")
        if name and level in _LEVELS:
            files.setdefault((pair, ".".join(name)), {})[level] = path
    if not files:
        raise InputError(
            "holds no human-scores/LP.NAME.seg.score or .sys.score",
            location=folder,
            remedy="give the folder of one test set of mt-metrics-eval, such as .../wmt22",
        )
    return files


def _metric_files(folder: Path, pair: str) -> dict[str, dict[str, Path]]:
    files: dict[str, dict[str, Path]] = {}
    for path in sorted((folder / "metric-scores" / pair).glob("[!.]*.score")):
        name, level = path.name.removesuffix(".score").rpartition(".")[::2]
        if level in _LEVELS:
            files.setdefault(name, {})[level] = path
    if not files:
        raise InputError("holds no scores of metrics", location=folder / "metric-scores" / pair)
    return files


def _wanted(files: dict[str, dict[str, Path]], metric_names: Sequence[str] | None) -> list[str]:
    if metric_names is None:
        return list(files)
    names = []
    for asked in metric_names:
        matching = [name for name in files if asked in (name, name.rpartition("-")[0])]
        if not matching:
            raise unknown_name("metric", asked, files, location="--columns")
        names += [name for name in matching if name not in names]
    return names


def _segments(folder: Path, pair: str) -> int:
    path = folder / "sources" / f"{pair}.txt"
    if not path.is_file():
        raise InputError(
            "there is no such file of sources", location=path, remedy="it gives the number of segments"
        )
    return sum(1 for _ in read_lines(path))


def _read(name: str, files: Sequence[dict[str, Path]], lines: int) -> ScoreTable:
    table = ScoreTable(name)
    for levels in files:
        for level, path in levels.items():
            _add(table, level, path, lines)
    return table


def _official_scores(human: ScoreTable, metrics: Sequence[ScoreTable]) -> list[str]:
    if not any(table.systems for table in metrics):
        return []
    notes = ["scores of systems: sys.score files, not means of the judged segments"]
    human.official = bool(human.systems)
    if not human.systems:
        notes.append("people's scores of systems: means of the judged segments (no sys.score file)")
    for table in metrics:
        table.official = True
        if not table.systems:
            parts: dict[str, list[float]] = {}
            for (system, _), score in table.segments.items():
                parts.setdefault(system, []).append(score)
            table.systems = {system: float(np.nanmean(scores)) for system, scores in parts.items()}
            notes.append(
                f"'{table.name}' has no sys.score file: its scores of systems are means of all segments"
            )
    return notes


def _add(table: ScoreTable, level: str, path: Path, segments: int) -> None:
    counts: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        location = f"{path}:{number}"
        if len(cells) != 2 or not cells[0]:
            raise InputError(f"expected a system and a score, found {len(cells)} cells", location=location)
        system, text = cells
        score = _score(text, location)
        counts[system] = counts.get(system, 0) + 1
        if level == "sys":
            table.systems[system] = score
        else:
            table.segments[system, str(counts[system])] = score
    expected = 1 if level == "sys" else segments
    for system, count in counts.items():
        if count != expected:
            raise InputError(f"'{system}' has {count} scores, not {expected}", location=path)


def _score(text: str, location: str) -> float:
    if text in ("", "None"):
        return float("nan")
    problem = number_problem(text, None, None)
    if problem is not None:
        raise InputError(f"the score {problem[0]}", location=location)
    return number_in(text)


def _choice(name: str | None, names: Sequence[str], noun: str, option: str, folder: Path) -> str:
    if name is not None:
        if name not in names:
            raise unknown_name(noun, name, names, location=option)
        return name
    if len(names) > 1:
        raise InputError(
            f"which {noun}?", location=folder, remedy=f"choose one with {option}: {', '.join(names)}"
        )
    return names[0]
