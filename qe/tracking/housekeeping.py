"""Housekeeping of the registry: deletes unneeded versions, never one with an alias."""

from collections.abc import Sequence

import mlflow
from mlflow.exceptions import MlflowException

from features.basics.errors import InputError, unknown_name
from qe.tracking.connection import connected, one_at_a_time
from qe.tracking.registry import CHAMPION, PREVIOUS, Version, model_versions


def to_delete(name: str, keep: int) -> list[Version]:
    """The versions to delete: none of the last `keep`, and none that is still needed.

    A version is needed if an alias names it, or a rollback would go back to it.

    Raises InputError for a name that is not registered.
    """
    versions = model_versions(name)
    before = {version.tags.get(PREVIOUS) for version in versions if CHAMPION in version.aliases}
    last = versions[max(0, len(versions) - keep) :]
    return [v for v in versions if not (v.aliases or v.version in before or v in last)]


def chosen(name: str, numbers: Sequence[str]) -> list[Version]:
    """The versions of these numbers.

    Raises InputError for one that there is not, and for one that an alias names.
    """
    by_number = {version.version: version for version in model_versions(name)}
    for number in numbers:
        if number not in by_number:
            raise unknown_name(f"version of '{name}'", number, by_number)
        _check_free(by_number[number])
    return [by_number[number] for number in dict.fromkeys(numbers)]


@connected(reading=True)
def delete(versions: Sequence[Version]) -> None:
    """Deletes versions from the registry; their models are marked as deleted, for `mlflow gc`.

    Raises InputError, before any is deleted, if an alias names one by now.
    """
    client = mlflow.MlflowClient()
    with one_at_a_time(mlflow.get_tracking_uri()):
        now = {version.name: {v.version: v for v in model_versions(version.name)} for version in versions}
        there = [now[v.name][v.version] for v in versions if v.version in now[v.name]]
        for version in there:
            _check_free(version)
        for version in there:
            model = str(client.get_model_version(version.name, version.version).source)
            client.delete_model_version(version.name, version.version)
            _delete_model(model, version.name)


def _delete_model(source: str, name: str) -> None:
    client, model = mlflow.MlflowClient(), source.removeprefix("models:/")
    others = client.search_model_versions(f"source_path = '{source}'")
    if source.startswith("models:/") and not others:
        try:
            client.delete_logged_model(model)
        except MlflowException:  # somebody has deleted it already
            return


def _check_free(version: Version) -> None:
    if version.aliases:
        raise InputError(
            f"version {version.version} of '{version.name}' is {', '.join(version.aliases)}",
            remedy="give the alias to another version first (`qe promote`)",
        )
