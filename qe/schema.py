"""Schema: settings files checked strictly, with errors that name the key and the known ones."""

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from features.core.errors import InputError

Checked = TypeVar("Checked", bound=BaseModel)


class Section(BaseModel):
    """A mapping of known keys; any other key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def validated(model: type[Checked], content: Mapping[str, Any], path: Path) -> Checked:
    """The settings of a file.

    Raises InputError with the path of the first wrong key: unknown (with the known ones and the nearest),
    missing, or of a wrong type or value.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = _known_keys(model, first["loc"])
            near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(
                f"unknown key '{key}'", where=path, remedy=f"known: {', '.join(known)}{hint}"
            ) from None
        seen = "" if first["type"] == "missing" else f", but got {first['input']!r}"
        raise InputError(f"{key}: {first['msg']}{seen}", where=path) from None


def _known_keys(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """The keys allowed where the unknown one stands."""
    sections = {section.__name__: section for section in Section.__subclasses__()}
    here = model
    for part in location[:-1]:
        if isinstance(part, str) and part in here.model_fields:
            words = re.findall(r"\w+Section", str(here.model_fields[part].annotation))
            here = sections[words[0]]
    return [entry.alias or name for name, entry in here.model_fields.items()]
