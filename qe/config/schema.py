"""Schema: settings files checked strictly, with errors that name the key and the known ones."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from features.core.errors import did_you_mean, shown, together

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Checked = TypeVar("Checked", bound=BaseModel)
Location = tuple[int | str, ...]
MOST_SEED = 2**32 - 1  # of NumPy's and scikit-learn's generators
Seed = Annotated[int, Field(ge=0, le=MOST_SEED)]


class Section(BaseModel):
    """A mapping of known keys; any other key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def validated(model: type[Checked], content: Mapping[str, Any], path: Path) -> Checked:
    """The settings of a file.

    Raises InputError with every wrong key: unknown (with the known ones and the nearest), missing, or of a
    wrong type or value.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise together([mistake.what for mistake in mistakes_of(error, model)], path) from None


def drafted(
    model: type[Checked], content: Mapping[str, Any], needed: Mapping[str, Any]
) -> tuple[Checked, list[str]]:
    """The settings without the keys that are wrong, and what is wrong with these.

    needed  what stands for a key that must be there, where it is absent or wrong
    """
    mistakes: list[str] = []
    left: dict[str, Any] = deepcopy(dict(content))
    while True:
        try:
            return model.model_validate(left), mistakes
        except ValidationError as error:
            wrong = mistakes_of(error, model)
            # What is missing after the first time is what was taken out.
            new = [mistake for mistake in wrong if not (mistakes and mistake.missing)]
            mistakes += [mistake.what for mistake in new]
            # The last first: an entry that is taken out of a list moves those behind it.
            before = deepcopy(left)
            for mistake in reversed(wrong):
                key = str(mistake.location[0]) if mistake.location else ""
                if not _taken_out(left, mistake.location) and key in needed:
                    left[key] = needed[key]
            if left == before:  # what is wrong concerns several keys
                left = dict(needed)


def _taken_out(content: Any, location: Location) -> bool:
    """Takes out the entry that a location leads to, or, if that is absent, what should hold it."""
    here, place = content, None
    for part in location:
        inside = part in here if isinstance(here, dict) else isinstance(here, list) and isinstance(part, int)
        if inside:
            place, here = (here, part), here[part]
        elif isinstance(here, dict) and not isinstance(part, int):
            break  # absent; a number leads into a value that stands for a list of one entry: to itself
    if place is None:
        return False
    del place[0][place[1]]
    return True


@dataclass(frozen=True)
class Mistake:
    """Where a mistake stands, what it is, in a line, and whether it is an absence."""

    location: Location
    what: str
    missing: bool


def mistakes_of(error: ValidationError, model: type[BaseModel]) -> list[Mistake]:
    """Mistakes as pydantic tells them."""
    return [
        Mistake(each["loc"], _described(each, model), each["type"] == "missing")
        for each in error.errors(include_url=False)
    ]


def _described(error: "ErrorDetails", model: type[BaseModel]) -> str:
    parts = [str(part) for part in error["loc"] if part != "[key]"]
    key = ".".join(parts) or "the file"
    if error["type"] == "extra_forbidden":
        known = _known_keys(model, error["loc"])
        return f"unknown key '{key}'; known: {', '.join(known)}{did_you_mean(parts[-1], known)}"
    seen = "" if error["type"] == "missing" else f", but got {shown(error['input'])}"
    return f"{key}: {error['msg']}{seen}"


def _known_keys(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """The keys allowed where the unknown one stands."""
    here = model
    for part in location[:-1]:
        entry = next((e for n, e in here.model_fields.items() if part in (n, e.alias)), None)
        if entry is not None:
            here = _model_in(entry.annotation) or here
    return [entry.alias or name for name, entry in here.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation is, or that is inside it: of `X | None` or `tuple[X, ...]`, X."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inside = (_model_in(argument) for argument in get_args(annotation))
    return next((model for model in inside if model is not None), None)
