"""The next steps up from what `qe init` writes.

It says what each gained if that was measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from qe.display.numbers import fixed

# Pearson correlations of the experiment without any step, by pair of MLQE-PE.
WITHOUT = {"ro-en": 0.617, "en-de": 0.101}


@dataclass(frozen=True, eq=False)
class Step:
    """What to do, and the Pearson correlations with it, by pair of MLQE-PE."""

    command: str
    reached: Mapping[str, float]

    def __str__(self) -> str:
        gains = (
            f"{pair} {fixed(WITHOUT[pair], 2)} -> {fixed(pearson, 2)}"
            for pair, pearson in self.reached.items()
        )
        return f"{self.command} (Pearson correlation on MLQE-PE: {', '.join(gains)})"


PARALLEL = Step(
    "parallel text, by --parallel SOURCE TARGET",
    {"ro-en": 0.670},
)
ENCODER = Step(
    "a sentence encoder, by qe encoders make multilingual-e5-small and qe init again",
    {"ro-en": 0.716, "en-de": 0.122},
)


def steps(parallel: bool, encoder: bool) -> tuple[Step, ...]:
    """The steps that were not taken yet, what gained most first.

    >>> [step is PARALLEL for step in steps(parallel=False, encoder=True)]
    [True]
    """
    taken = {PARALLEL: parallel, ENCODER: encoder}
    return tuple(step for step in (ENCODER, PARALLEL) if not taken[step])
