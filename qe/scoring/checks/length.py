"""A translation that is much shorter or longer than its source."""

from qe.scoring.check import Check, Pair

_RATIO = 2.0
_FEWEST = 20  # characters of difference: short texts vary


class Length(Check):
    """Less than half, or more than twice, the characters of the source (and at least 20 less or more)."""

    def words(self, pair: Pair) -> tuple[str, ...]:
        source, target = len(pair.source.strip()), len(pair.target.strip())
        shorter, longer = sorted((source, target))
        if longer <= _RATIO * shorter or longer - shorter < _FEWEST:
            return ()
        return (f"{target} characters for {source}",)
