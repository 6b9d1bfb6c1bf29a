"""The registry of models: names, versions, aliases, tags, deletion, and a table of versions."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_MODEL_VERSIONS

from features.basics.errors import InputError, unknown_name
from qe.display.numbers import NumberText, number
from qe.display.summary import Printable
from qe.display.table import Column, Table
from qe.statistics.metric import METRICS, title_of
from qe.tracking.address import check_text
from qe.tracking.connection import connected, one_at_a_time, store_is_there
from qe.tracking.logged_models import Described, log_model
from qe.tracking.runs import Run

CHAMPION, CHALLENGER = "champion", "challenger"
PREVIOUS = "promotion.previous"  # tag: the version that was champion before


@dataclass(frozen=True)
class Version(Printable):
    """One version of a registered model: `metrics` of its run, `created` as ISO 8601 in local time."""

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
    if not store_is_there():
        return []
    with connected():
        return sorted(model.name for model in mlflow.search_registered_models())


@connected(reading=True)
def model_versions(name: str) -> list[Version]:
    """The versions of a registered model, oldest first. Raises InputError for an unknown name."""
    names = model_names()
    if check_text(name) not in names:
        raise InputError(f"no registered model '{name}'", remedy=f"registered: {', '.join(names) or 'none'}")
    client, versions = mlflow.MlflowClient(), []
    for version in entries(name):
        entry = client.get_model_version(name, version)  # searching leaves the aliases out
        try:
            metrics = dict(mlflow.get_run(entry.run_id).data.metrics) if entry.run_id else {}
        except MlflowException:  # the run was deleted, the model kept
            metrics = {}
        aliases, tags, run_id = tuple(entry.aliases), dict(entry.tags), entry.run_id or ""
        created = datetime.fromtimestamp(entry.creation_timestamp / 1000).isoformat(timespec="seconds")
        versions.append(Version(entry.name, str(entry.version), aliases, tags, metrics, run_id, created))
    return versions


@connected(reading=True)
def entries(name: str) -> dict[str, Any]:
    """Number -> entry, oldest first; none for a name that is not registered."""
    quote = '"' if "'" in check_text(name) else "'"
    query = f"name = {quote}{name}{quote}"
    versions = mlflow.MlflowClient().search_model_versions(query, max_results=10_000)
    return {str(entry.version): entry for entry in sorted(versions, key=lambda entry: int(entry.version))}


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
    mlflow.MlflowClient().set_registered_model_alias(name, alias, version)


@connected()
def tag_version(name: str, version: str, tags: Mapping[str, str]) -> None:
    """Records tags on a version; those of the same names are replaced."""
    for key, text in tags.items():
        mlflow.MlflowClient().set_model_version_tag(name, version, key, text)


@connected(reading=True)
def aliased(name: str, alias: str) -> str | None:
    check_text(name), check_text(alias)
    try:
        return str(mlflow.MlflowClient().get_model_version_by_alias(name, alias).version)
    except MlflowException:
        return None


def to_delete(name: str, keep: int) -> list[Version]:
    """The versions except the last `keep`, those with an alias, and the one that a rollback returns to."""
    versions = model_versions(name)
    before = {version.tags.get(PREVIOUS) for version in versions if CHAMPION in version.aliases}
    last = versions[max(0, len(versions) - keep) :]
    return [v for v in versions if not (v.aliases or v.version in before or v in last)]


def select_versions(name: str, numbers: Sequence[str]) -> list[Version]:
    """The versions with these numbers. Raises InputError for one that is absent or has an alias."""
    by_number = {version.version: version for version in model_versions(name)}
    for key in numbers:
        if key not in by_number:
            raise unknown_name(f"version of '{name}'", key, by_number)
        _check_free(by_number[key])
    return [by_number[key] for key in dict.fromkeys(numbers)]


@connected(reading=True)
def delete(versions: Sequence[Version]) -> None:
    """Deletes versions that no alias names; their models are marked as deleted, for `mlflow gc`."""
    client = mlflow.MlflowClient()
    with one_at_a_time(mlflow.get_tracking_uri()):
        now = {version.name: {v.version: v for v in model_versions(version.name)} for version in versions}
        there = [now[v.name][v.version] for v in versions if v.version in now[v.name]]
        for version in there:
            _check_free(version)
        for version in there:
            model = str(client.get_model_version(version.name, version.version).source)
            client.delete_model_version(version.name, version.version)
            if model.startswith("models:/") and not client.search_model_versions(f"source_path = '{model}'"):
                with suppress(MlflowException):  # somebody has deleted it already
                    client.delete_logged_model(model.removeprefix("models:/"))


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
    rows = []
    for version in versions:
        tags, coverage = version.tags, version.metrics.get("intervals/coverage 90 percent")
        learner, score = tags.get("model", "").partition(" on ")[0], ""
        if "value" in tags:
            metric, value = tags.get("metric", ""), float(tags["value"])
            digits = METRICS.get(metric).digits + 1 if metric in METRICS else 4
            score = NumberText(title_of(metric), number(value, digits), value=value)
        minute = NumberText(*version.created[:16].split("T"), value=version.created)
        rows.append(
            [
                version.name,
                version.version,
                ", ".join(version.aliases),
                learner,
                tags.get("data", ""),
                score,
                minute,
                tags.get("experiment", ""),
                "" if coverage is None else number(coverage),
                tags.get("promotion.decision", ""),
            ]
        )
    return Table("", _COLUMNS, rows)


# Tags of logged models, by which versions are told apart and compared; people read those of versions.
_FOLDS, _CONTENT = "fingerprint.folds", "fingerprint.content"


@dataclass(frozen=True)
class Registration:
    """The version of a trained model, its aliases and the reason; `value` of `metric` ranks challengers."""

    name: str
    version: str
    uri: str
    champion: bool
    challenger: bool
    reason: str
    metric: str
    value: float
    model_id: str = ""


@connected()
def register(
    run: Run,
    directory: Path,
    *,
    name: str,
    columns: Sequence[str],
    metric: str,
    value: float,
    higher_is_better: bool,
    data: str,
    content: str,
    described: Described,
    about: str = "",
) -> Registration:
    """Logs the model directory as a pyfunc model of the run and registers it.

    `data` is the fingerprint of what `value` was measured on, `content` of what the model was made from: a
    run that is resumed to the same model has its version already. The first version of a name becomes
    `champion`, the best of later ones `challenger`.
    """
    mine = [one for one in entries(name).values() if one.run_id == run.id]
    same = [one for one in mine if _fingerprints(one).get(_CONTENT) == content]
    entry = same[-1] if same else None
    if entry is None:
        model_id = log_model(run, directory, columns=columns, described=described)
        run.client.set_logged_model_tags(model_id, {_FOLDS: data, _CONTENT: content})
    else:
        model_id = str(entry.source).removeprefix("models:/")
    judged = {"metric": metric, "value": repr(value)}
    with one_at_a_time(mlflow.get_tracking_uri()):
        version = str(entry.version) if entry else _new_version(run, name, model_id, described, judged, about)
        reason = _placed(name, version, higher_is_better)
    champion, challenger = (version == aliased(name, alias) for alias in (CHAMPION, CHALLENGER))
    uri = f"models:/{name}/{version}"
    return Registration(name, version, uri, champion, challenger, reason, metric, value, model_id)


def _fingerprints(entry: Any) -> dict[str, str]:
    try:
        tags = mlflow.get_logged_model(str(entry.source).removeprefix("models:/")).tags
    except MlflowException:
        return {}
    return {name: tags[name] for name in (_FOLDS, _CONTENT) if name in tags}


def _new_version(
    run: Run, name: str, model_id: str, described: Described, judged: Mapping[str, str], about: str
) -> str:
    try:
        run.client.create_registered_model(name, description=about or None)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    entry = run.client.create_model_version(
        name,
        f"models:/{model_id}",
        run.id,
        model_id=model_id,
        tags={**described.tags, **judged},
        description=described.description or None,
    )
    # What a tracking server does: the page of the logged model names its version.
    versions = json.dumps([{"name": name, "version": str(entry.version)}])
    run.client.set_logged_model_tags(model_id, {MLFLOW_MODEL_VERSIONS: versions})
    return str(entry.version)


def _placed(name: str, version: str, higher_is_better: bool) -> str:
    champion, challenger = aliased(name, CHAMPION), aliased(name, CHALLENGER)
    versions = {
        number: {**entry.tags, **_fingerprints(entry)}
        if number in (version, champion, challenger)
        else entry.tags
        for number, entry in entries(name).items()
    }
    tags = versions[version]
    if version == champion:
        return "the first model of this name" if len(versions) == 1 else "as before"
    if "promotion.decision" in tags:
        return f"`qe promote` has judged it: {tags['promotion.decision']}"
    if len(versions) == 1:
        make_champion(name, version)
        return "the first model of this name"
    # A version that `qe promote` has decided on does not wait any more.
    waiting = {n: t for n, t in versions.items() if "promotion.decision" not in t and n != version}
    if challenger in waiting and _comparable(tags, waiting[challenger]):
        gain = float(tags["value"]) - float(waiting[challenger]["value"])
        if gain * (1 if higher_is_better else -1) <= 0:
            return f"challenger version {challenger} is no worse ({_compared(waiting[challenger], tags)})"
    set_alias(name, CHALLENGER, version)
    if champion not in versions:
        return "no version is champion; `qe promote` makes one"
    return f"`qe promote` decides against champion version {champion} ({_compared(tags, versions[champion])})"


def _comparable(tags: Mapping[str, str], other_tags: Mapping[str, str]) -> bool:
    return all(tags[key] == other_tags.get(key) for key in ("metric", _FOLDS))


def _compared(tags: Mapping[str, str], other_tags: Mapping[str, str]) -> str:
    if not _comparable(tags, other_tags):
        return "measured on other data or by another metric"
    value, before = (number(float(entry["value"]), 4) for entry in (tags, other_tags))
    return f"{title_of(tags['metric'])} {value} against {before} on the same folds"
