"""Settings of rankings and of comparisons of metrics: options of `qe rank` and `qe correlate`.

This module loads no NumPy: the options of the command line are made of it.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from annotated_types import Interval

from features.basics.errors import InputError, known_name
from qe.statistics.settings import (
    LEVEL,
    MAX_SAMPLES,
    Resamples,
    ResamplingSettings,
    Seed,
    check_enough,
    check_samples,
)

Draw = Literal["tasks", "segments", "judges"]
DRAWS: tuple[str, ...] = get_args(Draw)
Resample = Literal["both", "segments"]
# What a difference is claimed for, by what changes sides.
CLAIMS = {"segment": "new segments", "system": "new systems", "score": "these systems and segments alone"}


@dataclass(frozen=True, kw_only=True)
class RankSettings:
    """How systems are ranked.

    Raises InputError for unknown names, shares outside (0, 1) and negative samples. Uncorrected p-values that
    decide are reported with Holm's correction as well. Systems that are `constrained` may be missing.
    Sources: findings of WMT 2012, Table 4 (sign test, constrained systems); Lopez 2012, section 6
    (correction).

    input:
      --constrained SYSTEM...  Systems that a second mark (⋆) compares among themselves.
      --reference  Name of the human reference among the systems.
      --with-reference  Rank the reference like a system, by every method.

    tests:
      --ranges METHOD...  Methods with rank ranges, all, or none. (default: those that are quick)
      --samples  Bootstrap samples of tasks.
      --confidence  Confidence of the rank ranges.
      --level  Level of the sign test that decides who wins.
      --correct none|bonferroni|holm|bh  Correct the sign tests of all pairs before they decide. (default:
          none)
      --draw tasks|segments|judges  What bootstrap samples are drawn of.
    """

    ranges: list[str] | None = None
    samples: Annotated[int, Interval(le=MAX_SAMPLES)] = 1000
    seed: Seed = 0
    confidence: float = 0.95
    level: float = 0.1
    correct: str | None = None
    draw: Draw = "tasks"
    constrained: list[str] | None = None
    reference: str = "_ref"
    with_reference: bool = False

    def __post_init__(self) -> None:
        if self.samples < 0:
            raise InputError(f"samples must be at least 0, but got {self.samples}")
        known_name("unit of drawing", self.draw, DRAWS)
        ResamplingSettings(correct=self.correct or "none", confidence=self.confidence, level=self.level)

    @property
    def correction(self) -> str | None:
        """What is corrected before it decides; None: uncorrected p-values decide."""
        return None if self.correct == "none" else self.correct

    def check_ranges(self, methods: list[str]) -> None:
        """Raises InputError if rank ranges are asked of a method that is none of `methods`."""
        if self.ranges in (None, ["all"], ["none"]):
            return
        strangers = [name for name in self.ranges or () if name not in methods]
        if strangers:
            raise InputError(
                f"no method '{strangers[0]}' is among --methods",
                location="--ranges",
                remedy=f"known: {', '.join(methods)}, all, none",
            )


@dataclass(frozen=True, kw_only=True)
class CorrelationSettings:
    """How metrics are compared with people.

    Raises InputError for unknown names, shares outside (0, 1) and too few permutations. p-values are
    corrected over all pairs of metrics, by each correlation.

    tests:
      --samples  Bootstrap samples.
      --permutations  Exchanges of each test; 0: no tests. (default: as many as the pairs of metrics need)
      --resample both|segments  What the bootstrap draws. (default: both; segments with fewer than 7
          systems)
      --exchange UNIT  What changes sides in tests, which is the claim: segment (new segments), system (new
          systems), score (these alone: Deutsch et al. 2021), segment+system: both must show. (default:
          segments and systems; segments with fewer than 7 systems)
      --confidence  Confidence of the intervals.
      --level  Level of the tests that make clusters.
    """

    samples: Annotated[int, Interval(ge=0, le=MAX_SAMPLES)] = 1000
    permutations: Resamples = None
    resample: Resample | None = None
    exchange: str | None = None
    seed: Seed = 0
    confidence: float = 0.95
    correct: str = "holm"
    level: float = LEVEL

    def __post_init__(self) -> None:
        if self.samples:
            check_samples(self.samples)
        if self.permutations:
            check_samples(self.permutations)
            check_enough(self.permutations, "--permutations")
        known_name("kind of bootstrap", self.resample or "both", get_args(Resample), location="--resample")
        for unit in self.exchanges:
            known_name("unit of exchange", unit, CLAIMS, location="--exchange")
        self.resampling()

    def resampling(self) -> ResamplingSettings:
        """The settings of the tests that `qe compare` has, too."""
        return ResamplingSettings(
            seed=self.seed, confidence=self.confidence, correct=self.correct, level=self.level
        )

    @property
    def exchanges(self) -> tuple[str, ...]:
        return tuple(sorted(set((self.exchange or "segment+system").split("+"))))
