"""Registration: a trained model becomes a version of a name and gets its due alias."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_MODEL_VERSIONS

from qe.display.numbers import number
from qe.statistics.metric import title_of
from qe.tracking.connection import connected, one_at_a_time
from qe.tracking.logged_models import Described, log_model
from qe.tracking.registry import CHALLENGER, CHAMPION, aliased, entries, make_champion, set_alias
from qe.tracking.runs import Run

# Tags of logged models, by which versions are told apart and compared; people read those of versions.
_FOLDS, _CONTENT = "fingerprint.folds", "fingerprint.content"


@dataclass(frozen=True)
class Registration:
    """What became of a trained model in the registry, and why.

    value  its `metric`, by which versions that wait are ordered
    """

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

    data     fingerprint of what `value` was measured on
    content  fingerprint of what the model was made from: a run that is resumed to the same model has its
             version already
    about    what all versions of the name have in common, for the registry

    The first version of a name becomes `champion`. Later ones wait for `qe promote`, the best of them as
    `challenger`.
    """
    entry = _registered(run, name, content)
    if entry is None:
        model_id = log_model(run, directory, columns=columns, described=described)
        run.client.set_logged_model_tags(model_id, {_FOLDS: data, _CONTENT: content})
    else:
        model_id = _model_of(entry)
    judged = {"metric": metric, "value": repr(value)}
    with one_at_a_time(mlflow.get_tracking_uri()):
        version = str(entry.version) if entry else _new_version(run, name, model_id, described, judged, about)
        reason = _placed(name, version, higher_is_better)
    champion, challenger = (version == aliased(name, alias) for alias in (CHAMPION, CHALLENGER))
    uri = f"models:/{name}/{version}"
    return Registration(name, version, uri, champion, challenger, reason, metric, value, model_id)


def _registered(run: Run, name: str, content: str) -> Any:
    mine = [entry for entry in entries(name).values() if entry.run_id == run.id]
    same = [entry for entry in mine if _fingerprints(entry).get(_CONTENT) == content]
    return same[-1] if same else None


def _model_of(entry: Any) -> str:
    return str(entry.source).removeprefix("models:/")


def _fingerprints(entry: Any) -> dict[str, str]:
    try:
        tags = mlflow.get_logged_model(_model_of(entry)).tags
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
        tags={**described.tags, **judged},
        description=described.description or None,
        model_id=model_id,
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
    if challenger in waiting and _gain(tags, waiting[challenger], higher_is_better) <= 0:
        return f"challenger version {challenger} is no worse ({_compared(waiting[challenger], tags)})"
    set_alias(name, CHALLENGER, version)
    if champion not in versions:
        return "no version is champion; `qe promote` makes one"
    return f"`qe promote` decides against champion version {champion} ({_compared(tags, versions[champion])})"


def _gain(tags: Mapping[str, str], other_tags: Mapping[str, str], higher_is_better: bool) -> float:
    if not _comparable(tags, other_tags):
        return float("inf")
    return (float(tags["value"]) - float(other_tags["value"])) * (1 if higher_is_better else -1)


def _comparable(tags: Mapping[str, str], other_tags: Mapping[str, str]) -> bool:
    return all(tags[key] == other_tags.get(key) for key in ("metric", _FOLDS))


def _compared(tags: Mapping[str, str], other_tags: Mapping[str, str]) -> str:
    if not _comparable(tags, other_tags):
        return "measured on other data or by another metric"
    value, before = (number(float(entry["value"]), 4) for entry in (tags, other_tags))
    return f"{title_of(tags['metric'])} {value} against {before} on the same folds"
