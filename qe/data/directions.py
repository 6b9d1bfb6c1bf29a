"""Whether higher labels are better, by common names of labels."""

from features.basics.errors import InputError

HIGHER = ("da", "da_mean", "da_score", "z_mean", "z_score", "zscore")
LOWER = ("hter", "ter")


def higher_is_better(name: str, declared: bool | None, remedy: str) -> bool:
    """The direction of a label: as declared, or by its name.

    remedy  how to give it

    >>> higher_is_better("HTER", None, ""), higher_is_better("score", True, "")
    (False, True)

    Raises InputError if neither does: `score` may be an error rate.
    """
    if declared is not None:
        return declared
    key = key_of(name)
    if key in HIGHER or key in LOWER:
        return key in HIGHER
    raise InputError(f"the direction of the label '{name}' is not known", remedy=remedy)


def is_rate(name: str) -> bool:
    """Whether a label is an edit rate: none is below 0."""
    return key_of(name) in LOWER


def key_of(name: str) -> str:
    """A name without what tables write differently.

    >>> key_of(" Z-Mean ")
    'z_mean'
    """
    return name.strip().casefold().replace("-", "_").replace(" ", "_")
