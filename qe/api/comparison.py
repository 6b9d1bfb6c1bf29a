"""MT systems compared from Python."""

from collections.abc import Mapping, Sequence
from typing import Any

from qe.statistics.buckets import Buckets
from qe.systems.buckets import with_buckets
from qe.systems.comparison import compare as run
from qe.systems.results import SystemsComparison
from qe.systems.settings import ResamplingSettings
from qe.systems.system import System
from qe.systems.text_metric import MT_METRICS
from qe.systems.texts import Texts


def compare(
    systems: Mapping[str, Sequence[str] | Sequence[Sequence[str]]],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    baseline: str | None = None,
    groups: Sequence[str] | None = None,
    buckets: Sequence[Buckets] = (),
    **settings: Any,
) -> SystemsComparison:
    """Scores MT systems against references and tests each against the baseline (default: the first).

    systems     name -> n translations, or several runs (optimizer replications) of n translations each
    references  n references, or several columns of n
    metrics     names of files in qe/systems/mt_metrics
    groups      (n,) the document of each segment: documents are exchanged and drawn whole
    buckets     ways to part the segments (`qe.data.buckets`): the systems are compared in each bucket, too
    settings    of `qe.systems.comparison.ResamplingSettings`: samples, seed, correct, ...

    Raises qe.InputError for columns of different length, empty references and unknown names.
    """
    columns = [Texts.of(c, f"reference {i}") for i, c in enumerate(_columns(references), start=1)]
    made = [
        System(name, tuple(Texts.of(run, f"{name} {i}") for i, run in enumerate(_columns(runs), start=1)))
        for name, runs in systems.items()
    ]
    comparison = run(
        made,
        columns,
        {name: MT_METRICS.get(name)() for name in metrics},
        baseline=baseline,
        settings=ResamplingSettings(**settings),
        groups=None if groups is None else list(groups),
    )
    return with_buckets(comparison, buckets, settings.get("samples")) if buckets else comparison


def _columns(texts: Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
    """One column, or several, as several."""
    if texts and isinstance(texts[0], str):
        return [[str(text) for text in texts]]
    return [list(column) for column in texts]
