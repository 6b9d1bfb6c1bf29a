"""Variables of the environment, set for a while."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def restored(*names: str) -> Iterator[None]:
    """Variables are as before when the block ends.

    >>> with restored("QE_EXAMPLE"):
    ...     os.environ["QE_EXAMPLE"] = "1"
    >>> "QE_EXAMPLE" in os.environ
    False
    """
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
