"""Oracles on the command line: their files, their JSON, their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qe.data.dataset import LabelScale
    from qe.data.score_files import ScoreFile
    from qe.evaluation.oracles import Oracle, PostEdited


@dataclass(frozen=True)
class OracleOptions:
    """What `qe evaluate` was given for oracles."""

    names: Sequence[str]
    target: Path | None
    post_edit: Path | None
    language: str | None


def scored_oracles(
    options: OracleOptions,
    gold: "ScoreFile",
    scale: "LabelScale",
    groups: Mapping[str, list[str]] | None,
    samples: int | None,
    seed: int,
) -> "dict[str, Oracle]":
    """The oracles asked for, by name.

    Raises InputError for an unknown name, absent files, and files that do not fit the labels.
    """
    from qe.evaluation.oracles import check_oracle, oracle

    for name in options.names:
        check_oracle(name)
    texts = _texts(options, gold)
    return {
        name: oracle(name, gold.scores, scale, texts, groups=groups, samples=samples, seed=seed)
        for name in options.names
    }


def _texts(options: OracleOptions, gold: "ScoreFile") -> "PostEdited | None":
    from features.basics.errors import InputError
    from features.text.tokenizer import Tokenizer
    from qe.data.reading import Reading
    from qe.evaluation.oracles import PostEdited

    asked = [name for name in options.names if name != "effort"]
    if not asked:
        return None
    if options.target is None or options.post_edit is None:
        raise InputError(
            f"the oracle {asked[0]} compares translations with post-edits",
            remedy="give --target and --post-edit",
        )
    if "hter" in asked and options.language is None:
        raise InputError("the oracle hter tokenizes the translations", remedy="give --target-language")
    columns = []
    for path in (options.target, options.post_edit):
        lines = Reading(Path()).lines(path).texts
        if len(lines) != len(gold.scores):
            raise InputError(
                f"{len(lines)} lines, but {len(gold.scores)} gold labels in {gold.path}", location=path
            )
        columns.append(lines)
    return PostEdited(columns[0], columns[1], Tokenizer(options.language or "en", normalise=False))


def oracles_json(oracles: "Mapping[str, Oracle]", systems: Mapping[str, float]) -> dict[str, Any]:
    """`oracles: {hter: {...}}`; nothing without oracles.

    systems  name -> DeltaAvg
    """
    if not oracles:
        return {}
    return {"oracles": {name: oracle.to_json(systems) for name, oracle in oracles.items()}}
