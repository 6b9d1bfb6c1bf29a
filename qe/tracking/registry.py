"""The registry of models: names, versions, aliases, tags, deletion, and a table of versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException

from features.basics.errors import InputError, unknown_name
from qe.display.numbers import NumberText, number
from qe.display.summary import summarised
from qe.display.table import Column, Table
from qe.statistics.metric import METRICS, title_of
from qe.tracking.address import check_text
from qe.tracking.connection import connected, one_at_a_time, store_is_there

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


def to_delete(name: str, keep: int) -> list[Version]:
    """The versions to delete: none of the last `keep`, and none that is still needed.

    A version is needed if an alias names it, or a rollback would go back to it.

    Raises InputError for a name that is not registered.
    """
    versions = model_versions(name)
    before = {version.tags.get(PREVIOUS) for version in versions if CHAMPION in version.aliases}
    last = versions[max(0, len(versions) - keep) :]
    return [v for v in versions if not (v.aliases or v.version in before or v in last)]


def select_versions(name: str, numbers: Sequence[str]) -> list[Version]:
    """The versions with these numbers.

    Raises InputError for one that there is not, and for one that an alias names.
    """
    by_number = {version.version: version for version in model_versions(name)}
    for key in numbers:
        if key not in by_number:
            raise unknown_name(f"version of '{name}'", key, by_number)
        _check_free(by_number[key])
    return [by_number[key] for key in dict.fromkeys(numbers)]


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


_COLUMNS = (
    Column("model", once=True), Column("version"), Column("alias"), Column("learner", drop=3),
    Column("data", drop=2), Column("metric"), Column("created", drop=1), Column("experiment", drop=4),
    Column("90 % coverage", "coverage", drop=5), Column("promotion", drop=6),
)  # fmt: skip


def versions_table(versions: Sequence[Version]) -> Table:
    """A row per version, in the order given."""
    return Table("", _COLUMNS, [_row(version) for version in versions])


def _row(version: Version) -> list[str]:
    tags, coverage = version.tags, version.metrics.get("intervals/coverage 90 percent")
    return [
        version.name, version.version, ", ".join(version.aliases), _learner(version),
        tags.get("data", ""), _score(version), _minute(version), tags.get("experiment", ""),
        "" if coverage is None else number(coverage), tags.get("promotion.decision", ""),
    ]  # fmt: skip


def _learner(version: Version) -> str:
    return version.tags.get("model", "").partition(" on ")[0]


def _minute(version: Version) -> NumberText:
    return NumberText(*version.created[:16].split("T"), value=version.created)


def _score(version: Version) -> str:
    if "value" not in version.tags:
        return ""
    metric, value = version.tags.get("metric", ""), float(version.tags["value"])
    digits = METRICS.get(metric).digits + 1 if metric in METRICS else 4
    return NumberText(title_of(metric), number(value, digits), value=value)
