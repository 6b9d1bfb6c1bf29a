"""Checks that the section of resources names what features need; loads nothing."""

from collections.abc import Sequence

from features.basics.errors import InputError
from qe.config.experiment import ResourcesSection


def check_section(section: ResourcesSection | None, parts: Sequence[str], place: str = "resources") -> None:
    """Check that the needed parts have an origin.

    Raises InputError if parts are needed, and the section, if there is one, does not name their origin.
    """
    if parts and section is None:
        raise InputError(
            f"the features need {', '.join(parts)}",
            location=place,
            remedy="name a parallel corpus (source, target) or a bundle built by `qe resources build`",
        )
    if parts and section is not None and section.incomplete:
        raise InputError("needs both source and target, or a bundle", location=place)
