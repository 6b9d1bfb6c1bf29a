"""Schema: settings files checked strictly, with errors that name the key and the known ones."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from features.basics.errors import combined_error, did_you_mean, quoted
from features.basics.hints import steps

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Checked = TypeVar("Checked", bound=BaseModel)
Location = tuple[int | str, ...]


class Section(BaseModel):
    """A mapping of known keys; any other key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def validated(model: type[Checked], content: Mapping[str, Any], path: Path) -> Checked:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise combined_error([mistake.text for mistake in mistakes_of(error, model, content)], path) from None


def drafted(
    model: type[Checked], content: Mapping[str, Any], needed: Mapping[str, Any]
) -> tuple[Checked, list[str]]:
    """The settings without the keys that are wrong, and the mistakes; `needed` replaces required keys."""
    mistakes, replaced = list[str](), set[str]()
    left: dict[str, Any] = deepcopy(dict(content))
    while True:
        try:
            return model.model_validate(left), mistakes
        except ValidationError as error:
            wrong = mistakes_of(error, model, left)
            # What is missing after the first time is what was taken out.
            mistakes += [mistake.text for mistake in wrong if not (mistakes and mistake.missing)]
            # The last first: an entry that is taken out of a list moves those behind it.
            before = deepcopy(left)
            settled: list[Location] = [(key,) for key in replaced]
            for mistake in reversed(wrong):
                if any(mistake.location[: len(place)] == place for place in settled):
                    continue
                key = mistake.location[0] if mistake.location else ""
                if mistake.path:
                    settled.append(_remove(left, mistake.path))
                elif key in needed:
                    left[str(key)] = deepcopy(needed[str(key)])
                    replaced.add(str(key))
                    settled.append((key,))
            if before == needed:
                raise
            if left == before:  # what is wrong concerns several keys
                left = deepcopy(dict(needed))


def _remove(content: Any, path: Location) -> Location:
    """Takes out what is at `path`, with the lists that held nothing else; the path of what is gone."""
    holders = [content]
    for part in path[:-1]:
        holders.append(holders[-1][part])
    while len(holders) > 1 and isinstance(holders[-1], list) and len(holders[-1]) == 1:
        holders.pop()
    last = len(holders) - 1
    del holders[last][path[last]]
    return path[: last + 1]


@dataclass(frozen=True)
class Mistake:
    """`location` as the file has it, with a key that is missing; `path`: as far as the content goes."""

    location: Location
    path: Location
    text: str
    missing: bool


def mistakes_of(error: ValidationError, model: type[BaseModel], content: Any) -> list[Mistake]:
    """Pydantic's errors, without short lists whose entries are wrong themselves."""
    errors = error.errors(include_url=False)
    within = {each["loc"][:end] for each in errors for end in range(len(each["loc"]))}
    mistakes = []
    for each in errors:
        if not (each["type"] == "too_short" and each["loc"] in within):
            path, missing = tuple(steps(content, each["loc"])), each["type"] == "missing"
            location = (*path, each["loc"][-1]) if missing else path
            mistakes.append(Mistake(location, path, _described(each, model, location), missing))
    return mistakes


def _described(error: "ErrorDetails", model: type[BaseModel], location: Location) -> str:
    key = ".".join(map(str, location)) or "the file"
    if error["type"] == "extra_forbidden":
        here = model
        for part in error["loc"][:-1]:
            entry = next((e for n, e in here.model_fields.items() if part in (n, e.alias)), None)
            if entry is not None:
                here = _model_in(entry.annotation) or here
        known = [entry.alias or name for name, entry in here.model_fields.items()]
        return f"unknown key '{key}'; known: {', '.join(known)}{did_you_mean(str(location[-1]), known)}"
    seen = "" if error["type"] == "missing" else f", but got {quoted(error['input'])}"
    return f"{key}: {error['msg']}{seen}"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inside = (_model_in(argument) for argument in get_args(annotation))
    return next((model for model in inside if model is not None), None)


def feature_configs(value: Any, path: Path) -> list[dict[str, Any]]:
    """Feature configs; a bare name is short for `{kind: NAME}`. Raises InputError for other values."""
    configs, mistakes = readable_configs(value)
    if mistakes:
        raise combined_error(mistakes, path)
    return configs


def readable_configs(value: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """The readable entries of a list of features (a `kind` or a `set`), and problems of the others."""
    if isinstance(value, dict) and value and value.keys() <= {"add", "remove"}:
        return [], ["`features: {add, remove}` changes those of another experiment; name it in `extends`"]
    if not isinstance(value, list) or not value:
        return [], ["`features` must be a list of extractors; - kind: baseline17"]
    configs, mistakes = list[dict[str, Any]](), list[str]()
    for number, item in enumerate(value):
        entry = {"kind": item} if isinstance(item, str) else item
        if isinstance(entry, dict) and ("kind" in entry) ^ ("set" in entry):
            configs.append(entry)
        else:
            got = f"every entry needs a `kind` or a `set`, but got {quoted(item)}"
            mistakes.append(f"features.{number}: {got}")
    return configs, mistakes
