"""The registry: names, versions, their aliases and tags."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException

from features.basics.errors import InputError
from qe.display.summary import summarised
from qe.tracking.address import check_text
from qe.tracking.connection import connected, store_is_there

CHAMPION, CHALLENGER = "champion", "challenger"
PREVIOUS = "promotion.previous"  # tag: the version that was champion before


@summarised
@dataclass(frozen=True)
class Version:
    """One version of a registered model.

    `metrics` are its run's, `created` is ISO 8601, local time.
    """

    name: str
    version: str
    aliases: tuple[str, ...]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    run_id: str
    created: str

    @property
    def uri(self) -> str:
        return f"models:/{self.name}/{self.version}"


def model_names() -> list[str]:
    """The registered models, by name; none if there is no store yet."""
    return _model_names() if store_is_there() else []


@connected()
def _model_names() -> list[str]:
    client, names, token = mlflow.MlflowClient(), [], None
    while True:
        page = client.search_registered_models(max_results=500, page_token=token)
        names += [entry.name for entry in page]
        token = page.token
        if not token:
            return sorted(names)


@connected(reading=True)
def model_versions(name: str) -> list[Version]:
    """The versions of a registered model, oldest first.

    Raises InputError for a name that is not registered.
    """
    names = model_names()
    if check_text(name) not in names:
        raise InputError(f"no registered model '{name}'", remedy=f"registered: {', '.join(names) or 'none'}")
    # Searching leaves the aliases out.
    client = mlflow.MlflowClient()
    return [_version(client.get_model_version(name, number)) for number in entries(name)]


@connected(reading=True)
def entries(name: str) -> dict[str, Any]:
    """Number -> entry, oldest first; none for a name that is not registered."""
    query = f"name = {_quoted(check_text(name))}"
    versions = mlflow.MlflowClient().search_model_versions(query, max_results=10_000)
    return {str(entry.version): entry for entry in sorted(versions, key=lambda entry: int(entry.version))}


def _version(entry: Any) -> Version:
    try:
        metrics = dict(mlflow.get_run(entry.run_id).data.metrics) if entry.run_id else {}
    except MlflowException:  # the run was deleted, the model kept
        metrics = {}
    created = datetime.fromtimestamp(entry.creation_timestamp / 1000).isoformat(timespec="seconds")
    return Version(
        entry.name,
        str(entry.version),
        tuple(entry.aliases),
        dict(entry.tags),
        metrics,
        entry.run_id or "",
        created,
    )


@connected(reading=True)
def make_champion(name: str, version: str) -> None:
    """Gives a version the alias `champion`, and notes which one had it before."""
    client = mlflow.MlflowClient()
    before = aliased(name, CHAMPION)
    if before is not None and before != version:
        client.set_model_version_tag(name, version, PREVIOUS, before)
    client.set_registered_model_alias(name, CHAMPION, version)
    if aliased(name, CHALLENGER) == version:
        client.delete_registered_model_alias(name, CHALLENGER)


@connected()
def set_alias(name: str, alias: str, version: str) -> None:
    """Moves an alias to a version."""
    mlflow.MlflowClient().set_registered_model_alias(name, alias, version)


@connected()
def tag_version(name: str, version: str, tags: Mapping[str, str]) -> None:
    """Records tags on a version; those of the same names are replaced."""
    for key, text in tags.items():
        mlflow.MlflowClient().set_model_version_tag(name, version, key, text)


@connected(reading=True)
def aliased(name: str, alias: str) -> str | None:
    """The version with an alias; None if none has it."""
    check_text(name), check_text(alias)
    try:
        return str(mlflow.MlflowClient().get_model_version_by_alias(name, alias).version)
    except MlflowException:
        return None


def _quoted(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"
