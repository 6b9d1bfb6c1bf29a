"""Cautions to read before trusting p-values and intervals, one sentence each."""

from collections.abc import Callable, Mapping, Sequence

from qe.statistics.family import FEW, Judged, Key, Table
from qe.statistics.levels import Levels
from qe.statistics.metric import title_of

Titled = Callable[[str], str]  # what people call a metric

_NAMED = 3  # pairs that a sentence names


def cautions(
    table: Table,
    judged: Mapping[Key, Judged],
    levels: Levels,
    interval: str = "jackknife",
    titled: Titled = title_of,
) -> list[str]:
    """All of them, for the comparisons of one table and the kind of its intervals."""
    of_tests = [*undecided(table, judged, titled), *borderline(table, judged, titled)]
    return [*few_units(levels, interval), *of_tests]


def few_units(levels: Levels, interval: str = "jackknife") -> list[str]:
    """Levels with so few units that p-values are coarse, or that nothing can be told."""
    rough = f"below {FEW}, p-values are coarse"
    if interval != "jackknife":
        rough += f" and {interval} intervals too narrow; the jackknife's are not"
    return [f"{size} {name}s only: {rough}" for name, size in levels.sizes().items() if 1 < size < FEW] + [
        f"one {name} only: there is nothing to resample, so that intervals and p-values are undefined"
        for name, size in levels.sizes().items()
        if size == 1
    ]


def undecided(table: Table, judged: Mapping[Key, Judged], titled: Titled = title_of) -> list[str]:
    """Comparisons without an answer, by reason: too few units, or too few resamples asked for."""
    reasons: dict[str, list[Key]] = {}
    for key, one in judged.items():
        if one.result.undecided:
            reasons.setdefault(one.result.undecided, []).append(key)
    notes = [f"cannot be decided for {_listed(keys, titled)}: {why}" for why, keys in reasons.items()]
    short = table.short_of_samples(judged)
    if short:
        samples = max(judged[key].result.samples for key in short)
        notes.append(
            f"cannot be decided for {_listed(list(short), titled)}: {samples:,} samples cannot give a p-value"
            f" that stands for {table.largest} comparisons; ask for {max(short.values()):,}"
        )
    return notes


def borderline(table: Table, judged: Mapping[Key, Judged], titled: Titled = title_of) -> list[str]:
    """Comparisons that another seed might decide otherwise."""
    if table.short_of_samples(judged):
        return []
    near = table.borderline(judged)
    told = f"p lies within its Monte-Carlo error of {table.rule.level:g} for {_listed(near, titled)}"
    return [f"{told}: more --samples would settle it"] if near else []


def _listed(keys: Sequence[Key], titled: Titled) -> str:
    metrics: dict[tuple[str, str], list[str]] = {}
    for a, b, metric in keys:
        metrics.setdefault((a, b), []).append(titled(metric))
    names = [f"{a} : {b} ({', '.join(of_pair)})" for (a, b), of_pair in metrics.items()]
    more = f" and {len(names) - _NAMED} more pairs" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
