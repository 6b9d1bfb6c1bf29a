"""Failures: what a candidate cannot compute ends its trial, not the search."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.models.pipeline import Candidate

_LONGEST = 300  # characters of a reason


class CandidateFailed(InputError):
    """A learner or selector cannot be computed with these parameters on these rows."""

    @property
    def reason(self) -> str:
        """Why, on one line."""
        return self.problem


@contextmanager
def failures_of(candidate: Candidate) -> Iterator[None]:
    """Raises CandidateFailed if the block fails because of its numbers.

    Such failures are no convergence, overflow, or parameters that these rows do not allow. Other errors
    (of settings, of memory, of the code) pass unchanged.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if not _numerical(error):
            raise
        raise CandidateFailed(_reason(error), location=_named(candidate), remedy=_REMEDY) from error


_REMEDY = "narrow its search space, or set other parameters"


def _numerical(error: Exception) -> bool:
    known = (ArithmeticError, ValueError, np.linalg.LinAlgError)
    return isinstance(error, known) or type(error).__module__.partition(".")[0] == "lightgbm"


def _reason(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _named(candidate: Candidate) -> str:
    chosen = candidate.settings()
    own = ", ".join(f"{name}={value!r}" for name, value in chosen["learner_params"].items())
    selector = "" if candidate.selector == "none" else f" after {candidate.selector}"
    return f"{candidate.learner}({own}){selector}"


def finite(predicted: FloatArray) -> FloatArray:
    """The predictions. Raises FloatingPointError if one is no finite number."""
    wrong = int(np.count_nonzero(~np.isfinite(predicted)))
    if wrong:
        raise FloatingPointError(f"{wrong} of {len(predicted)} predictions are not finite")
    return predicted
