"""Search processes: processes that add trials to the study of a run, on the same machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from features.basics.environment import restored
from features.basics.threads import THREADS, cores
from features.basics.workers import WorkerPool
from qe.data.dataset import Dataset
from qe.training.candidates import contribute
from qe.training.plan import Plan
from qe.training.preparation import prepare


@dataclass(frozen=True, eq=False)
class Helpers:
    """Processes beside this one, so that `workers` search together.

    The cores are divided among them.
    """

    plan: Plan
    dataset: Dataset | None
    cache: Path
    workers: int

    @contextmanager
    def at(self, address: str) -> Iterator[None]:
        """They work on the study at an address while the block does; afterwards, all are over.

        Raises what one of them raises.
        """
        with restored(THREADS):
            os.environ[THREADS] = str(max(1, cores() // self.workers))
            with WorkerPool(self.workers - 1, _begin, ()) as pool:
                given = (self.plan, self.dataset, self.cache, address)
                working = [pool.submit(_help, *given) for _ in range(self.workers - 1)]
                yield
                for helper in working:
                    helper.result()


def _begin() -> None:
    pass


def _help(plan: Plan, dataset: Dataset | None, cache: Path, address: str) -> None:
    contribute(prepare(plan, cache, calibrating=True, dataset=dataset), address)
