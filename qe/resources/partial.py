"""Bundles of a corpus from which some parts cannot be built: errors name the part, or it is left out."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from features.basics.errors import InputError
from features.basics.progress import Progress
from features.core.bundle import Bundle, with_needs

Build = Callable[[Sequence[str], Progress], Bundle]  # parts, progress


@dataclass
class _Watched:
    progress: Progress
    part: str = field(default="", init=False)

    def __call__(self, stage: str, completed: int, total: int | None) -> None:
        if stage.startswith("building "):
            self.part = stage.removeprefix("building ")
        self.progress(stage, completed, total)


def build_possible(
    build: Build, parts: Sequence[str], progress: Progress, requested: Collection[str] = ()
) -> tuple[Bundle, Mapping[str, InputError]]:
    """A bundle with all of the parts that can be built, and for each other part the reason.

    A part is left out if the corpus is unsuitable (too few pairs, no words), or a package is absent, and with
    it all that is built from it. Raises InputError for faults of files (errors with a location), if no part
    was begun, and for a part that was `requested` by name.
    """
    wanted, left_out = list(parts), dict[str, InputError]()
    while True:
        watched = _Watched(progress)
        try:
            return build(wanted, watched), left_out
        except InputError as error:
            lost = [name for name in wanted if watched.part and watched.part in with_needs([name])]
            if not lost or error.location is not None:
                raise
            if watched.part in requested:
                problem = f"the part '{watched.part}' cannot be built: {error.problem}"
                raise InputError(problem, remedy=error.remedy) from None
            left_out |= dict.fromkeys(lost, error)
            wanted = [name for name in wanted if name not in lost]
