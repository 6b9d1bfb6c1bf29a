"""MT systems compared from Python."""

from collections.abc import Mapping, Sequence
from typing import Any

from features.basics.hints import checked
from qe.statistics.buckets import Buckets
from qe.statistics.family import ResamplingSettings
from qe.systems.comparison import compare as run
from qe.systems.comparison import with_buckets
from qe.systems.results import System, SystemsComparison
from qe.systems.text_metric import metrics_for
from qe.systems.texts import Texts


@checked
def compare(
    systems: Mapping[str, Sequence[str] | Sequence[Sequence[str]]],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    baseline: str | None = None,
    groups: Sequence[str] | None = None,
    buckets: Sequence[Buckets] = (),
    tokenize: str | None = None,
    language: str | None = None,
    **settings: Any,
) -> SystemsComparison:
    """Scores MT systems against references, and tests each against the baseline.

    Parameters
    ----------
    systems : mapping of str to sequence of str, or to several such sequences
        n translations of each system, or several runs (optimizer replications) of n translations each.
    references : sequence of str of length n, or several such sequences
        Reference translations.
    metrics : sequence of str, default=('bleu', 'chrf', 'ter')
        Names of files in qe/systems/mt_metrics, with options such as `chrf:word_order=2`.
    baseline : str, default=None
        The system that the others are compared with. None: the first.
    groups : sequence of shape (n,), default=None
        Document of each segment: documents are exchanged and drawn whole.
    buckets : sequence of Buckets, default=()
        Ways to part the segments (`qe.data.by_length`): systems are compared within each bucket, too.
    tokenize : str, default=None
        One of `qe.systems.texts.TOKENIZATIONS`; `none` for text whose tokens stand between blanks. None: as
        sacreBLEU for the language (TER: tokens between blanks).
    language : str, default=None
        Language of the texts. None: one with blanks between words.
    **settings
        Fields of `qe.systems.ResamplingSettings`: samples, seed, correct, ...

    Returns
    -------
    SystemsComparison
        Scores, their instability over runs, and p-values.

    Raises
    ------
    qe.InputError
        For columns that differ in length, references that are empty, and unknown names.

    Examples
    --------
    >>> texts = ["the door is red", "a cat sleeps here"]
    >>> compare({"ours": texts}, texts, metrics=["bleu"], samples=19).scores["ours"]["bleu"].instability.mean
    100.0
    """
    columns = [Texts.from_lines(c, f"reference {i}") for i, c in enumerate(_columns(references), start=1)]
    made = [
        System(
            name, tuple(Texts.from_lines(run, f"{name} {i}") for i, run in enumerate(_columns(runs), start=1))
        )
        for name, runs in systems.items()
    ]
    comparison = run(
        made,
        columns,
        metrics_for(metrics, tokenize, language, [line for column in columns for line in column.lines]),
        baseline=baseline,
        settings=ResamplingSettings(**settings),
        groups=None if groups is None else list(groups),
    )
    return with_buckets(comparison, buckets, settings.get("samples")) if buckets else comparison


def _columns(texts: Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
    if texts and isinstance(texts[0], str):
        return [[str(text) for text in texts]]
    return [list(column) for column in texts]
