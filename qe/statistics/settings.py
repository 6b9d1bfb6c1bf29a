"""ResamplingSettings: how systems are compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from features.basics.errors import InputError, known_name
from qe.statistics.family import IN_TEST, Rule, Scope, check_correction
from qe.statistics.randomization import EXCHANGES, Exchange
from qe.statistics.result import LEVEL, Tail, check_enough, check_seed, check_shares, check_tail
from qe.statistics.tukey import PERMUTED, Contrasts

Test = Literal["ar", "bootstrap", "win-ratio", "shifted", "tukey", "scheffe"]
ALL_AT_ONCE: Mapping[str, Contrasts] = {"tukey": "pairs", "scheffe": "all"}
Interval = Literal["jackknife", "percentile", "bca"]
# What a difference is claimed for, by unit of exchange.
CLAIMS = {
    "segment": "new segments, these runs",
    "segment-run": "these outputs only: these runs on these segments",
    "run": "new runs, these segments",
    "any": "these outputs only: all hypotheses of a segment alike",
}


@dataclass(frozen=True)
class ResamplingSettings:
    """How systems are compared.

    Raises InputError for unknown names, a negative seed, shares outside (0, 1), and too few samples to reach
    a p-value of `level`.

    Parameters
    ----------
    test : str, default='ar'
        ar: approximate randomization; bootstrap (centred), win-ratio, shifted: paired bootstrap; tukey,
        scheffe: exchanges of all systems at once, which need no correction, for all pairs (randomized Tukey
        HSD) or for all contrasts.
    exchange : str or None, default=None
        Unit of exchange of `ar`, which is the claim (`CLAIMS`); several, joined by +, must all show a
        difference; None: segment, for new segments. `tukey` and `scheffe` take one, segment or segment-run.
    samples : int or None, default=None
        Shuffles, and virtual test sets of the bootstrap; None: 10,000, or what the comparisons need.
    correct : str, default='holm'
        None, bonferroni, holm, bh: over each `family` of comparisons (qe.statistics.family).
    interval : str, default='jackknife'
        Jackknife (Student's t, right with few units too), percentile or bca of the bootstrap.
    level : float, default=LEVEL
        Level of significance that is marked, and that few units or samples may be unable to reach.
    """

    test: Test = "ar"
    exchange: str | None = None
    samples: int | None = None
    seed: int = 1
    tail: Tail = "two-sided"
    correct: str = "holm"
    family: Scope = "metric"
    interval: Interval = "jackknife"
    confidence: float = 0.95
    level: float = LEVEL

    def __post_init__(self) -> None:
        known_name("test", self.test, get_args(Test))
        known_name("interval", self.interval, get_args(Interval))
        check_correction(self.correct)
        Rule(self.family, level=self.level)
        for unit in self.exchanges:
            known_name("exchange", unit, EXCHANGES)
        check_tail(self.tail)
        self._check_exchange()
        if self.samples:
            check_enough(self.samples, level=self.level)
        check_shares(confidence=self.confidence)
        check_seed(self.seed)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The units of exchange, one or several."""
        return tuple(dict.fromkeys((self.exchange or "segment").split("+")))  # type: ignore[arg-type]

    @property
    def claim(self) -> str | None:
        """The units of exchange, joined by +; None for a test that exchanges nothing."""
        return "+".join(self.exchanges) if self.test in ("ar", *ALL_AT_ONCE) else None

    @property
    def rule(self) -> Rule:
        """How p-values are corrected."""
        return Rule(self.family, IN_TEST if self.test in ALL_AT_ONCE else self.correct, self.level)

    def _check_exchange(self) -> None:
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
