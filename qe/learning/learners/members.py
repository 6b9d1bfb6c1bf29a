"""Members of an ensemble: learners named in the experiment file."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

from features.basics.errors import InputError
from qe.learning.learner import LEARNERS
from qe.learning.parameters import StrategyIn

Member = Annotated[Mapping[str, Any], StrategyIn(LEARNERS)]  # {"kind": "ridge", "alpha": 10.0, ...}

STRONG_AND_DIFFERENT: tuple[Member, ...] = (
    {"kind": "importance_weighted_svr"},
    {"kind": "elastic_net"},
    {"kind": "svr_rbf", "gamma": "scale"},
    {
        "kind": "lightgbm",
        "n_estimators": 150,
        "num_leaves": 7,
        "learning_rate": 0.05,
        "colsample_bytree": 0.3,
    },
)  # the mean of these four was the best of the feasibility study


def make_members(members: Sequence[Member] | None, seed: int) -> list[BaseEstimator]:
    """Unfitted estimators; None stands for the four of the feasibility study.

    Raises InputError for an empty list, a member without `kind`, an unknown learner or parameter.
    """
    if members is None:
        members = STRONG_AND_DIFFERENT
    if not len(members):
        raise InputError("an ensemble needs members", remedy="list them as {kind: NAME, parameter: value}")
    made = []
    for member in members:
        if "kind" not in member:
            raise InputError(f"a member needs 'kind', but got {dict(member)}", remedy="e.g. {kind: ridge}")
        params = {name: value for name, value in member.items() if name != "kind"}
        try:
            made.append(LEARNERS.get(member["kind"])().estimator(seed=seed, **params))
        except TypeError as error:
            raise InputError(f"learner '{member['kind']}': {error}") from None
    return made


def fit_member(member: BaseEstimator, X: Any, y: Any, sample_weight: Any) -> BaseEstimator:
    """The member, fitted. Raises InputError if there are weights and it takes none."""
    if sample_weight is None:
        return member.fit(X, y)
    if not has_fit_parameter(member, "sample_weight"):
        raise InputError(f"{type(member).__name__} takes no weights", remedy="set `weights: none`")
    return member.fit(X, y, sample_weight=sample_weight)


class TrustedByMembers:
    """Trusted types of an ensemble: what its own class and any learner's estimator may load."""

    def __init__(self, *own: str) -> None:
        self.own = own

    def __get__(self, instance: object, owner: type) -> tuple[str, ...]:
        names = set(self.own)
        for name in LEARNERS.names:
            try:
                learner = LEARNERS.get(name)
            except ModuleNotFoundError:  # a member of this kind cannot be here
                continue
            trusted = vars(learner).get("trusted_types")
            # An ensemble within an ensemble: its own class; asking for its members' would go on for ever.
            names.update(trusted.own if isinstance(trusted, TrustedByMembers) else learner.trusted_types)
            kind = type(learner().estimator())
            names.add(f"{kind.__module__}.{kind.__qualname__}")
        return tuple(sorted(names))
