"""Settings of tests and intervals: the command line and Python take the same records.

This module loads no NumPy: the options of the command line are made of it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import annotated_types

from features.basics.errors import InputError, known_name

Tail = Literal["two-sided", "greater", "less"]
Test = Literal["ar", "bootstrap", "win-ratio", "shifted", "tukey", "scheffe"]
Exchange = Literal["segment", "segment-run", "run", "any"]
Permuted = Literal["segment", "segment-run"]
Contrasts = Literal["pairs", "all"]
Interval = Literal["jackknife", "percentile", "bca"]
Scope = Literal["metric", "table", "all"]
TAILS: tuple[str, ...] = get_args(Tail)
EXCHANGES: tuple[str, ...] = get_args(Exchange)
PERMUTED: tuple[Permuted, ...] = get_args(Permuted)
SCOPES: tuple[str, ...] = get_args(Scope)
CORRECTIONS = ("none", "bonferroni", "holm", "bh")
IN_TEST = "in the test"
ALL_AT_ONCE: Mapping[str, Contrasts] = {"tukey": "pairs", "scheffe": "all"}  # tests that need no correction
# What a difference is claimed for, by unit of exchange.
CLAIMS = {
    "segment": "new segments, these runs",
    "segment-run": "these outputs only: these runs on these segments",
    "run": "new runs, these segments",
    "any": "these outputs only: all hypotheses of a segment alike",
}
LEVEL = 0.05
MAX_SAMPLES = 1_000_000  # the smallest p-value is then 1e-6; more would fill the memory first
MAX_SEED = 2**32 - 1  # of NumPy's and scikit-learn's generators
Seed = Annotated[int, annotated_types.Interval(ge=0, le=MAX_SEED)]
Samples = Annotated[int, annotated_types.Interval(ge=1, le=MAX_SAMPLES)]
Resamples = Annotated[int | None, annotated_types.Interval(ge=0, le=MAX_SAMPLES)]


def check_tail(tail: str) -> None:
    known_name("tail", tail, TAILS)


def check_samples(samples: int) -> None:
    if not 1 <= samples <= MAX_SAMPLES:
        raise InputError(f"samples must be 1 to {MAX_SAMPLES:,}, but got {samples:,}")


def check_shares(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 < value < 1:
            raise InputError(f"0 < {name} < 1 must hold, but got {value:g}")


def check_enough(samples: int, option: str = "samples", level: float = LEVEL) -> None:
    """Raises InputError for too few resamples to reach a p-value of the level on any data."""
    least = math.ceil(round(1 / level, 9)) - 1
    if samples < least:
        raise InputError(
            f"{option} must be at least {least}, but got {samples}: fewer cannot give a p-value of {level:g}"
        )


def check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError(f"the seed must not be negative, but got {seed}")


def check_correction(method: str) -> None:
    if method in ALL_AT_ONCE:
        raise InputError(
            f"'{method}' is a test, not a correction",
            remedy=f"use --test {method} of `qe compare` or `qe evaluate`",
        )
    known_name("correction", method, CORRECTIONS)


@dataclass(frozen=True, kw_only=True)
class CorrectionSettings:
    """How many resamples are drawn, and how p-values of many comparisons are corrected.

    Raises InputError for unknown names, a negative seed, and too few samples for a p-value of .05.

    tests:
      --samples N  Resamples; 0: no intervals, no tests. (default: what the comparisons need)
      --seed N  Seed of all random draws.
      --correct none|bonferroni|holm|bh  Correction for multiple comparisons.
      --family metric|table|all  Comparisons that are corrected together: by one metric, by
          all metrics, or everything shown.
    """

    samples: Resamples = None
    seed: Seed = 0
    correct: str = "holm"
    family: Scope = "metric"

    def __post_init__(self) -> None:
        check_correction(self.correct)
        known_name("family", self.family, SCOPES)
        if self.samples:
            check_enough(self.samples, level=self._level)
        check_seed(self.seed)

    @property
    def _level(self) -> float:
        return LEVEL


@dataclass(frozen=True, kw_only=True)
class SignificanceSettings(CorrectionSettings):
    """How models are compared.

    tests:
      --test ar|bootstrap|win-ratio|tukey|scheffe  Approximate randomization, paired bootstrap (win-ratio:
          Koehn 2004), or a test of all systems at once.
    """

    test: Test = "ar"


@dataclass(frozen=True, kw_only=True)
class ResamplingSettings(SignificanceSettings):
    """How systems are compared, over runs if they have several.

    `tukey` and `scheffe` exchange the outputs of all systems at once, for all pairs (randomized Tukey HSD) or
    all contrasts; they need no correction, and permute segments or segment-runs. Also raises InputError for
    shares outside (0, 1), and too few samples to reach a p-value of `level`.

    tests:
      --test ar|bootstrap|win-ratio|shifted|tukey|scheffe  ar: approximate randomization; bootstrap,
          win-ratio, shifted: paired bootstrap; tukey, scheffe: all systems at once.
      --exchange UNIT  Unit that is permuted, which is the claim: segment (new segments; default), segment-run
          (these outputs only); for ar also run (new runs), any; segment+run: significant with both.
      --tail two-sided|greater|less  Tail of the test.
      --samples N  Permutations, and virtual test sets. (default: 10,000; more for many pairs)
      --level P  Significance level; choose a smaller one for stricter tests.
      --interval jackknife|percentile|bca  Confidence intervals; percentile: too narrow with few segments or
          groups.
      --confidence P  Confidence of the intervals.
    """

    seed: Seed = 1
    exchange: str | None = None
    tail: Tail = "two-sided"
    level: float = LEVEL
    interval: Interval = "jackknife"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        known_name("test", self.test, get_args(Test))
        known_name("interval", self.interval, get_args(Interval))
        for unit in self.exchanges:
            known_name("exchange", unit, EXCHANGES)
        check_tail(self.tail)
        at_once = self.test in ALL_AT_ONCE
        if self.exchange is not None and not at_once and self.test != "ar":
            raise InputError(
                f"the test '{self.test}' exchanges nothing, but exchange is '{self.exchange}'",
                remedy="leave it out, or use the test 'ar'",
            )
        if at_once and (len(self.exchanges) > 1 or self.exchanges[0] not in PERMUTED):
            raise InputError(
                f"the test '{self.test}' exchanges {' or '.join(PERMUTED)}, but exchange is"
                f" '{self.exchange}'",
                remedy="use the test 'ar' for other claims",
            )
        if at_once and self.tail != "two-sided":
            raise InputError(
                f"the test '{self.test}' is two-sided, but tail is '{self.tail}'", remedy="use the test 'ar'"
            )
        check_shares(confidence=self.confidence, level=self.level)
        super().__post_init__()

    @property
    def _level(self) -> float:
        return self.level

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The units of exchange, one or several."""
        return tuple(dict.fromkeys((self.exchange or "segment").split("+")))  # type: ignore[arg-type]

    @property
    def claim(self) -> str | None:
        """The units of exchange, joined by +; None for a test that exchanges nothing."""
        return "+".join(self.exchanges) if self.test in ("ar", *ALL_AT_ONCE) else None

    @property
    def correction(self) -> str:
        """How p-values are corrected; `in the test` if they hold for all pairs already (Tukey)."""
        return IN_TEST if self.test in ALL_AT_ONCE else self.correct


@dataclass(frozen=True, kw_only=True)
class PowerSettings:
    """How power is found.

    Raises InputError for shares outside (0, 1) and too few simulations or permutations.

    tests:
      --power P  Probability of detecting the difference.
      --level P  Significance level of the two-sided test.
      --comparisons N  Comparisons that will be corrected together (Holm): each is tested at level / N.
      --simulations N  Virtual test sets per point of a curve.
      --samples N  Permutations in each test. (default: 199; more for many comparisons)
    """

    power: float = 0.8
    level: float = LEVEL
    comparisons: int = 1
    simulations: Annotated[int, annotated_types.Interval(le=MAX_SAMPLES)] = 500
    samples: Annotated[int | None, annotated_types.Interval(le=MAX_SAMPLES)] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_shares(power=self.power, level=self.level)
        check_enough(self.permutations)
        check_seed(self.seed)
        if self.comparisons < 1:
            raise InputError(f"comparisons must be 1 or more, but got {self.comparisons}")
        if self.simulations < 100:
            raise InputError(f"simulations must be at least 100, but got {self.simulations}")
        if self.power <= self.threshold:
            raise InputError(f"power {self.power} must lie above the level {self.level}")
        least = round(1 / self.threshold) - 1
        if self.permutations < least:
            raise InputError(
                f"samples must be at least {least} for {self.comparisons} comparisons at level {self.level},"
                f" but got {self.permutations}"
            )

    @property
    def permutations(self) -> int:
        """Permutations in the test of each virtual test set."""
        if self.samples is not None:
            return self.samples
        return max(199, 10 * round(self.comparisons / self.level) - 1)

    @property
    def threshold(self) -> float:
        """What an uncorrected p-value must reach."""
        return self.level / self.comparisons
