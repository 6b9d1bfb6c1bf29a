"""Several made-up datasets in one experiment."""

from pathlib import Path
from typing import Any

import numpy as np

from qe.config import experiment
from qe.training.preparation import Prepared, feature_tables
from qe.training.search import SearchResult, search_candidates

WORDS = ("house", "tree", "red", "green", "walks", "sings", "the", "a", "never", "often", "seven", "river")


def text(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, rng.integers(3, 16)))


def write(path: Path, n: int, seed: int, *, first: int = 0, higher: bool = True) -> list[str]:
    """A table of n segments: longer ones are worse; the last `first` sources are those of seed 0's first."""
    rng = np.random.default_rng(seed)
    sources = [text(rng) for _ in range(n)]
    if first:
        twins = np.random.default_rng(0)
        sources[-first:] = [f"{text(twins)} ." for _ in range(first)]  # as another tokenizer leaves them
    lengths = np.array([len(source.split()) for source in sources])
    scores = (-1 if higher else 1) * lengths + rng.normal(0, 1, n)
    rows = [f"{s}\t{s} .\t{score:.4f}" for s, score in zip(sources, scores, strict=True)]
    path.write_text("\n".join(["source\ttarget\tscore", *rows]) + "\n")
    return sources


def write_three(folder: Path) -> None:
    """`other.tsv` shares sources with `first.tsv`, and its labels have the other direction; `spanish.tsv`."""
    write(folder / "first.tsv", 60, 0)
    write(folder / "other.tsv", 50, 1, first=20, higher=False)
    write(folder / "spanish.tsv", 40, 2)


def section(file: str, higher: bool = True, target: str = "de", **more: Any) -> dict[str, Any]:
    label = {"name": "da" if higher else "hter", "low": None, "high": None, "higher_is_better": higher}
    return {
        "format": "table",
        "path": file,
        "label": label,
        "source_language": "en",
        "target_language": target,
        "columns": {"scores": "score"},
        **more,
    }


def made(folder: Path, *datasets: Any, **more: Any) -> experiment.Experiment:
    """An experiment on these datasets; a single one is no list."""
    content = {
        "name": "several",
        "dataset": list(datasets) if len(datasets) > 1 else datasets[0],
        "features": ["surface"],
        "split": {"folds": 3},
        "learner": {"kind": "ridge", "params": {"alpha": 10}, "space": {}},
        "search": {"trials": 1, "objective": "pearson"},
        "evaluation": {"metric": "pearson", "samples": 100},
        "tracking": {"register": False},
        **more,
    }
    return experiment.from_mapping(content, folder)


def searched(prepared: Prepared) -> SearchResult:
    """The search of an experiment on the features of its folds."""
    return search_candidates(prepared, feature_tables(prepared))
