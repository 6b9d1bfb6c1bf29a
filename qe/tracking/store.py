"""Tracking: the only importer of MLflow; reads mlflow.yaml."""

import json
import logging
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from string import Formatter
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
import pandas as pd
from mlflow.data.pandas_dataset import from_pandas
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
from mlflow.telemetry import set_telemetry_client
from mlflow.types import ColSpec, DataType, Schema
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS, MLFLOW_MODEL_VERSIONS

from features.core import strict_yaml
from features.core.damage import Damaged, whole
from features.core.errors import InputError
from features.core.outputs import locked_file
from features.core.packages import DISTRIBUTION, version
from qe.config.schema import Section, validated
from qe.tracking.address import check_reachable, database_file, is_database, without_password
from qe.tracking.large_files import bring, large_files, without

CHAMPION, CHALLENGER = "champion", "challenger"
PREVIOUS = "promotion.previous"  # tag: the version that was champion before
# The UI opens on the runs of model training, not on its pages for language model applications.
_KIND = {"mlflow.experimentKind": "custom_model_development"}
# The code that MLflow runs for a logged model; it imports rooms above this one, so it is named by its path.
_PYFUNC_MODEL = Path(__file__).resolve().parents[1] / "production" / "pyfunc_model.py"
_BATCH = 500  # metrics logged at a time; MLflow takes at most 1000
_PATIENCE = 120.0  # seconds that another process may take to make the tables of a new store
_PARAM_LIMIT = 6000  # MLflow's longest parameter value


class TrackingSettings(Section):
    """The keys of mlflow.yaml."""

    tracking_uri: str = "sqlite:///mlflow.db"
    artifact_root: str = "mlartifacts"
    experiment: str = "qe"
    registered_model: str = "qe-{dataset}"
    system_metrics: bool = False


def find_settings(start: Path | None = None) -> Path | None:
    """The nearest mlflow.yaml: in the working directory or above it."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "mlflow.yaml").is_file():
            return folder / "mlflow.yaml"
    return None


def load_settings(path: Path | None = None) -> tuple[TrackingSettings, Path]:
    """The settings and the folder that their relative paths start from.

    Raises InputError for an unreadable file, an unknown key, or a template that gives no name.
    """
    path = path or find_settings()
    if path is None:
        return TrackingSettings(), Path.cwd()
    content = strict_yaml.read(path, "file of settings")
    settings = validated(TrackingSettings, {} if content is None else content, path)
    _check_template(settings.registered_model, path)
    return settings, path.parent


def tracking_uri(path: Path | None = None) -> str:
    """The tracking store: MLFLOW_TRACKING_URI, else mlflow.yaml's with its SQLite path made absolute."""
    settings, folder = load_settings(path)
    given = os.environ.get("MLFLOW_TRACKING_URI")
    if given:
        return given
    prefix, relative = "sqlite:///", settings.tracking_uri.removeprefix("sqlite:///")
    if settings.tracking_uri.startswith(prefix) and not relative.startswith("/"):
        return f"{prefix}{folder / relative}"
    return settings.tracking_uri


def artifact_root(path: Path | None = None) -> str:
    """Where artifacts of a database go: an absolute path, or a URI as given.

    A relative path starts where the store does: at mlflow.yaml, or, where MLFLOW_TRACKING_URI names another
    store, beside its SQLite file, and in the working directory for other databases.
    """
    settings, folder = load_settings(path)
    given = os.environ.get("MLFLOW_TRACKING_URI")
    if given:
        file = database_file(given)
        folder = Path.cwd() if file is None else file.parent
    return settings.artifact_root if "://" in settings.artifact_root else str(folder / settings.artifact_root)


def connect(path: Path | None = None) -> TrackingSettings:
    """Points MLflow at the project's store and experiment; creates the experiment on first use.

    Raises InputError, after seconds, if there is no store, or one that MLflow cannot use.
    """
    _quiet()
    settings, _ = load_settings(path)
    uri = tracking_uri(path)
    for address in (uri, os.environ.get("MLFLOW_REGISTRY_URI") or uri):
        check_reachable(address)
    mlflow.set_tracking_uri(uri)
    # The registry is the tracking store, unless the user's MLFLOW_REGISTRY_URI says otherwise. To set it here
    # would write that variable for everything that follows in this process.
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", settings.experiment)
    try:
        with one_at_a_time(uri):
            if mlflow.get_experiment_by_name(name) is None:
                location = f"{artifact_root(path)}/{name}" if is_database(uri) else None
                mlflow.create_experiment(name, artifact_location=location, tags=_KIND)
            mlflow.set_experiment(name)
    except InputError:
        raise
    except Exception as error:  # MLflow's, SQLAlchemy's, the driver's
        reason = without_password(str(error).strip().splitlines()[0])
        raise InputError(f"MLflow cannot use this store: {reason}", where=without_password(uri)) from None
    return settings


@contextmanager
def one_at_a_time(uri: str) -> Iterator[None]:
    """Keeps other processes of this kind from the same steps on an SQLite store: MLflow makes its tables, and
    who is first of a name, without asking whether another process is just doing that.
    """
    file = database_file(uri)
    if file is None or not os.access(_nearest(file.parent), os.W_OK):  # nothing can be made there anyway
        yield
        return
    with locked_file(file, patience=_PATIENCE):
        yield


def _nearest(folder: Path) -> Path:
    return next(above for above in (folder, *folder.parents) if above.exists())


def _quiet() -> None:
    """MLflow's migrations, downloads and hints are not the user's business; its errors are.

    It reports nothing to anyone, unless the user has said that it may.
    """
    if "MLFLOW_DISABLE_TELEMETRY" not in os.environ:
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        set_telemetry_client()  # type: ignore[no-untyped-call]  # what was made when mlflow was imported goes
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    # On stdout, where a server tracks: it would stand in the middle of what --json prints.
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)


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


@dataclass(frozen=True)
class Data:
    """Data that a run used: name and digest, by which figures refer to it."""

    name: str
    digest: str


@dataclass(frozen=True)
class Described:
    """How a model is shown to people.

    name         of the logged model; characters that MLflow refuses become `-`
    description  Markdown
    params       what it was fitted with
    tags         of its version in the registry
    """

    name: str
    description: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One open MLflow run."""

    id: str
    experiment_id: str
    client: mlflow.MlflowClient

    @property
    def uri(self) -> str:
        return f"runs:/{self.id}"

    def params(self, values: Mapping[str, Any]) -> None:
        """Logs parameters, nested mappings by dotted names.

        A value that changed since the run began (MLflow keeps the first) is logged as the tag
        `resumed.NAME`; one too long for MLflow stands in report.json alone.
        """
        flat = {name: str(value) for name, value in flatten(values).items()}
        known = self.client.get_run(self.id).data.params
        new = [Param(k, v) for k, v in flat.items() if k not in known and len(v) <= _PARAM_LIMIT]
        for start in range(0, len(new), 100):
            self.client.log_batch(self.id, params=new[start : start + 100])
        changed = {k: v for k, v in flat.items() if k in known and known[k] != v}
        self.tags({f"resumed.{name}": value for name, value in changed.items()})

    def metrics(
        self,
        values: Mapping[str, float],
        step: int = 0,
        *,
        model_id: str | None = None,
        data: Data | None = None,
    ) -> None:
        """Logs finite metrics; an undefined one is left out.

        model_id  the logged model that they are of
        data      what they were measured on
        """
        logged = _metrics(values, step, model_id, data)
        for start in range(0, len(logged), _BATCH):
            self.client.log_batch(self.id, metrics=logged[start : start + _BATCH])

    def tags(self, values: Mapping[str, str]) -> None:
        self.client.log_batch(self.id, tags=[RunTag(k, v) for k, v in values.items()])

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """Logs a file, or a directory's content."""
        log = mlflow.log_artifacts if path.is_dir() else mlflow.log_artifact
        log(str(path), artifact_path=folder, run_id=self.id)

    def table(self, rows: pd.DataFrame, path: str) -> None:
        """Logs a table that the UI opens under Artifacts (`mlflow.log_table` would append on a resumed run).

        path  ends in `.json`
        """
        with TemporaryDirectory() as scratch:
            file = Path(scratch) / Path(path).name
            file.write_text(rows.to_json(orient="split", index=False, force_ascii=False), "utf-8")
            folder = Path(path).parent.as_posix()
            self.artifact(file, None if folder == "." else folder)
        known = json.loads(self.client.get_run(self.id).data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
        entry = {"path": path, "type": "table"}
        if entry not in known:
            self.tags({MLFLOW_LOGGED_ARTIFACTS: json.dumps([*known, entry])})

    def describe(self, text: str) -> None:
        """What the run's page says of it, in Markdown."""
        self.tags({"mlflow.note.content": text})

    def dataset(self, table: pd.DataFrame, name: str, targets: str | None, context: str) -> Data:
        """Logs the data a run used."""
        source = from_pandas(table, targets=targets, name=name)
        mlflow.log_input(source, context=context)
        return Data(source.name, source.digest)

    def children(self) -> set[str]:
        """The names of its child runs."""
        tag = f"tags.mlflow.parentRunId = '{self.id}'"
        names, token = set[str](), None
        while True:
            page = self.client.search_runs([self.experiment_id], tag, max_results=1000, page_token=token)
            names |= {str(run.info.run_name) for run in page}
            token = page.token
            if not token:
                return names

    def child(
        self, name: str, params: Mapping[str, Any], metrics: Mapping[str, float], started: datetime | None,
        finished: datetime | None, tags: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """A finished child run: a trial of a search, or a repeat of the folds."""
        start = int(started.timestamp() * 1000) if started else None
        run = self.client.create_run(
            self.experiment_id,
            start_time=start,
            tags={"mlflow.parentRunId": self.id, **(tags or {})},
            run_name=name,
        )
        self.client.log_batch(
            run.info.run_id,
            metrics=_metrics(metrics, 0),
            params=[Param(k, str(v)) for k, v in flatten(params).items()],
        )
        end = int(finished.timestamp() * 1000) if finished else None
        self.client.set_terminated(run.info.run_id, "FINISHED", end)

    def register(
        self,
        directory: Path,
        *,
        name: str,
        columns: Sequence[str],
        example: pd.DataFrame,
        metric: str,
        value: float,
        higher_is_better: bool,
        data: str,
        content: str,
        described: Described,
        about: str = "",
    ) -> Registration:
        """Logs the model directory as a pyfunc model and registers it.

        data     fingerprint of what `value` was measured on
        content  fingerprint of what the model was made from: a run that is resumed to the same model has its
                 version already
        about    what all versions of the name have in common, for the registry

        The first version of a name becomes `champion`. Later ones wait for `qe promote`, the best of them as
        `challenger`.
        """
        entry = self._registered(name, content)
        if entry is None:
            model_id = self.log_model(directory, columns=columns, example=example, described=described)
        else:
            model_id = str(entry.source).removeprefix("models:/")
        judged = {"metric": metric, "value": repr(value)}
        judged |= {"fingerprint.folds": data, "fingerprint.content": content}
        with one_at_a_time(mlflow.get_tracking_uri()):
            version = (
                str(entry.version) if entry else self._new_version(name, model_id, described, judged, about)
            )
            reason = self._placed(name, version, higher_is_better)
        champion, challenger = (version == aliased(name, alias) for alias in (CHAMPION, CHALLENGER))
        uri = f"models:/{name}/{version}"
        return Registration(name, version, uri, champion, challenger, reason, metric, value, model_id)

    def log_model(
        self, directory: Path, *, columns: Sequence[str], example: pd.DataFrame, described: Described
    ) -> str:
        """The model directory as a pickle-free pyfunc model of this run; its id.

        In a local artifact store its large files are copied once, and not over a temporary folder; on file
        systems that can (btrfs, XFS), copies take no space. No file is a link: what happens to the files of
        one model happens to no other.
        """
        inputs = Schema([ColSpec(DataType.string, column) for column in columns])
        outputs = Schema([ColSpec(DataType.double, "score"), ColSpec(DataType.string, "reason")])
        logged = mlflow.models.Model.log(
            artifact_path=None,
            name=re.sub(r"[/:.%\"']", "-", described.name),
            params={name: str(value) for name, value in flatten(described.params).items()},
            tags={"mlflow.note.content": described.description},
            flavor=_PyfuncOfFolder(),
            flavor_name="pyfunc.ModelFromCode",
            run_id=self.id,
            folder=directory,
            signature=ModelSignature(inputs=inputs, outputs=outputs),
            input_example=example[list(columns)],
            # MLflow would load the model from its temporary folder, and say nothing whatever comes of it.
            validate_serving_input=False,
        )
        return str(logged.model_id)

    def _registered(self, name: str, content: str) -> Any:
        """The version that this run has registered of a model made from the same; None if there is none."""
        entries = _versions(name).values()
        mine = [e for e in entries if e.run_id == self.id and e.tags.get("fingerprint.content") == content]
        return mine[-1] if mine else None

    def _new_version(
        self, name: str, model_id: str, described: Described, judged: Mapping[str, str], about: str
    ) -> str:
        """Registers a logged model; `mlflow.register_model` would print, quiet or not."""
        try:
            self.client.create_registered_model(name, description=about or None)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        entry = self.client.create_model_version(
            name,
            f"models:/{model_id}",
            self.id,
            tags={**described.tags, **judged},
            description=described.description or None,
            model_id=model_id,
        )
        # What a tracking server does: the page of the logged model names its version.
        versions = json.dumps([{"name": name, "version": str(entry.version)}])
        self.client.set_logged_model_tags(model_id, {MLFLOW_MODEL_VERSIONS: versions})
        return str(entry.version)

    def _placed(self, name: str, version: str, higher_is_better: bool) -> str:
        """Gives a new version the alias that is its due; the answer says why that one, or none."""
        champion, challenger = aliased(name, CHAMPION), aliased(name, CHALLENGER)
        versions = {number: dict(entry.tags) for number, entry in _versions(name).items()}
        own = versions[version]
        if version == champion:
            return "the first model of this name" if len(versions) == 1 else "as before"
        if "promotion.decision" in own:
            return f"`qe promote` has judged it: {own['promotion.decision']}"
        if len(versions) == 1:
            make_champion(name, version)
            return "the first model of this name"
        # One that was judged does not wait any more.
        waiting = {n: t for n, t in versions.items() if "promotion.decision" not in t and n != version}
        if challenger in waiting and _gain(own, waiting[challenger], higher_is_better) <= 0:
            return f"challenger version {challenger} is no worse ({_compared(waiting[challenger], own)})"
        set_alias(name, CHALLENGER, version)
        if champion not in versions:
            return "no version is champion; `qe promote` makes one"
        return (
            f"`qe promote` decides against champion version {champion} ({_compared(own, versions[champion])})"
        )


def _gain(own: Mapping[str, str], other: Mapping[str, str], higher_is_better: bool) -> float:
    """By how much a version measured better than another; what cannot be compared gives way to the newer."""
    if not _comparable(own, other):
        return float("inf")
    return (float(own["value"]) - float(other["value"])) * (1 if higher_is_better else -1)


def _comparable(own: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(own[key] == other.get(key) for key in ("metric", "fingerprint.folds"))


def _compared(own: Mapping[str, str], other: Mapping[str, str]) -> str:
    if not _comparable(own, other):
        return "measured on other data or by another metric"
    values = (float(tags["value"]) for tags in (own, other))
    return "{} {:.4f} against {:.4f} on the same folds".format(own["metric"], *values)


def _quoted(text: str) -> str:
    """A value in a filter of MLflow, which knows two quotation marks and no escape."""
    return f'"{text}"' if "'" in text else f"'{text}'"


class _PyfuncOfFolder:
    """The flavour (as `mlflow.models.Model.log` calls it) of a folder, run by `qe.production.pyfunc_model`.

    MLflow copies every file twice, into a temporary folder and from there into the store. Large files skip
    both where the store is a local folder.
    """

    def save_model(
        self, path: str, mlflow_model: Any, folder: Path, validate_serving_input: bool, **options: Any
    ) -> None:
        del validate_serving_input  # Model.log reads it, and passes it on
        store = _local_store(mlflow_model.model_id)
        large = [] if store is None else large_files(folder)
        with without(folder, large) as rest:
            mlflow.pyfunc.save_model(
                path,
                python_model=str(_PYFUNC_MODEL),
                artifacts={"model": str(rest)},
                pip_requirements=[f"{DISTRIBUTION}[train]=={version()}"],
                mlflow_model=mlflow_model,
                **options,
            )
        if store is None:
            return
        # The large files lie in the store before MLflow brings the others: what looks whole is whole.
        entry = mlflow_model.flavors["python_function"]["artifacts"]["model"]
        bring(folder, large, store / entry["path"])
        entry["uri"] = str(folder)
        mlflow_model.model_size_bytes += sum((folder / file).stat().st_size for file in large)
        mlflow_model.save(str(Path(path) / "MLmodel"))


def _local_store(model_id: str) -> Path | None:
    """The folder of a logged model's artifacts; None if they go over the network."""
    location = mlflow.get_logged_model(model_id).artifact_location
    repository = get_artifact_repository(location)
    return Path(repository.artifact_dir) if isinstance(repository, LocalArtifactRepository) else None


@contextmanager
def run(
    name: str,
    *,
    description: str = "",
    resume: str | None = None,
    parent: str | None = None,
    settings_file: Path | None = None,
) -> Iterator[Run]:
    """An MLflow run, ended when the block ends; `resume` goes on with the run of that id."""
    settings = connect(settings_file)
    if resume is not None and not _exists(resume):
        resume = None
    with mlflow.start_run(
        run_id=resume,
        run_name=None if resume else name,
        parent_run_id=parent,
        nested=parent is not None,
        description=description or None,
        log_system_metrics=settings.system_metrics,
    ) as active:
        yield Run(active.info.run_id, active.info.experiment_id, mlflow.MlflowClient())


def log_report(
    name: str,
    *,
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    folder: Path,
    settings_file: Path | None = None,
) -> str:
    """Logs a report that is no model training as a run of its own; its id.

    params   settings, nested mappings by dotted names
    metrics  figures; undefined ones are left out
    folder   its content (tables, plots) goes to the run's artifacts, under `name`

    Characters of names that MLflow refuses become `_`.
    """
    with run(name, settings_file=settings_file) as logged:
        logged.params(_named(flatten(params)))
        logged.metrics(_named(metrics))
        logged.artifact(folder, name)
    return logged.id


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values under names that MLflow accepts."""
    return {re.sub(r"[^\w. /-]", "_", name): value for name, value in values.items()}


def model_directory(uri: str) -> Path:
    """The model directory behind an MLflow URI (`models:/NAME@champion`, `models:/NAME/3`, `runs:/...`).

    Raises InputError if there is no such model, or one that this project did not log.
    """
    connect()
    try:
        local = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri))
    except (MlflowException, OSError) as error:
        raise InputError(
            f"no model at {uri} ({error})", remedy="`qe models` lists the registered ones"
        ) from None
    with whole("the MLflow model", local / "MLmodel", "name a model that `qe train` has logged"):
        flavors = strict_yaml.read(local / "MLmodel", "description of a model")["flavors"]
        folder = local / str(flavors["python_function"]["artifacts"]["model"]["path"])
        if not folder.resolve().is_relative_to(local.resolve()):
            raise Damaged(f"its path leads to {folder}, out of its own folder")
    return folder


def publish(folder: Path, names: Sequence[str]) -> None:
    """Sends files that were written into a `model_directory` to its store, where that is no local folder."""
    root = next(above for above in folder.parents if (above / "MLmodel").is_file())
    model_id = str(strict_yaml.read(root / "MLmodel", "description of a model")["model_id"])
    if _local_store(model_id) is None:
        for name in names:
            place = folder.relative_to(root).as_posix()
            mlflow.MlflowClient().log_model_artifact(model_id, str(folder / name), place)


@dataclass(frozen=True)
class Version:
    """One version of a registered model; `metrics` are its run's, `created` is ISO 8601, local time."""

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
    """The registered models, by name."""
    connect()
    client, names, token = mlflow.MlflowClient(), [], None
    while True:
        page = client.search_registered_models(max_results=500, page_token=token)
        names += [entry.name for entry in page]
        token = page.token
        if not token:
            return sorted(names)


def model_versions(name: str) -> list[Version]:
    """The versions of a registered model, oldest first.

    Raises InputError for a name that is not registered.
    """
    names = model_names()
    if name not in names:
        raise InputError(f"no registered model '{name}'", remedy=f"registered: {', '.join(names) or 'none'}")
    # Searching leaves the aliases out.
    client = mlflow.MlflowClient()
    return [_version(client.get_model_version(name, number)) for number in _versions(name)]


def _versions(name: str) -> dict[str, Any]:
    """Number -> entry, oldest first; none for a name that is not registered."""
    entries = mlflow.MlflowClient().search_model_versions(f"name = {_quoted(name)}", max_results=10_000)
    return {str(entry.version): entry for entry in sorted(entries, key=lambda entry: int(entry.version))}


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


def make_champion(name: str, version: str) -> None:
    """Gives a version the alias `champion`, and notes which one had it before."""
    client = mlflow.MlflowClient()
    before = aliased(name, CHAMPION)
    if before is not None and before != version:
        client.set_model_version_tag(name, version, PREVIOUS, before)
    client.set_registered_model_alias(name, CHAMPION, version)
    if aliased(name, CHALLENGER) == version:
        client.delete_registered_model_alias(name, CHALLENGER)


def set_alias(name: str, alias: str, version: str) -> None:
    """Moves an alias to a version."""
    mlflow.MlflowClient().set_registered_model_alias(name, alias, version)


def tag_version(name: str, version: str, tags: Mapping[str, str]) -> None:
    """Records tags on a version; those of the same names are replaced."""
    for key, text in tags.items():
        mlflow.MlflowClient().set_model_version_tag(name, version, key, text)


def aliased(name: str, alias: str) -> str | None:
    """The version with an alias; None if none has it."""
    try:
        return str(mlflow.MlflowClient().get_model_version_by_alias(name, alias).version)
    except MlflowException:
        return None


def spark_scorer(session: Any, folder: Path, config: Mapping[str, Any], output: Mapping[str, str]) -> Any:
    """MLflow's Spark UDF (a column of structs in, one out) for a model that Spark has shipped.

    folder  an empty folder, for the MLflow model: kept until the UDF has been used
    config  what qe/production/pyfunc_model.py reads
    output  columns of the result -> Spark types

    What runs is the present version's pyfunc_model.py, not a copy that a registry holds.
    """
    _quiet()
    path = folder / "model"
    mlflow.pyfunc.save_model(
        path,
        python_model=str(_PYFUNC_MODEL),
        model_config=dict(config),
        pip_requirements=[f"{DISTRIBUTION}[train]=={version()}"],
    )
    result = "struct<" + ", ".join(f"{name}: {kind}" for name, kind in output.items()) + ">"
    return mlflow.pyfunc.spark_udf(session, str(path), result_type=result, env_manager="local")


def registered_model(template: str, dataset: str, experiment: str) -> str:
    """The registered model's name from the template of mlflow.yaml; `/` and `:` of a dataset become `-`."""
    _check_template(template)
    name = template.format(dataset=dataset, experiment=experiment)
    return name.replace("/", "-").replace(":", "-")  # MLflow's names cannot hold them


def _check_template(template: str, where: Path | None = None) -> None:
    """Raises InputError for a template of names that would be empty, or that asks for anything else."""
    try:
        # `str.format` would follow attributes, and pad to any width, as the template asks.
        wrong = [
            field
            for _, field, width, converted in Formatter().parse(template)
            if field not in (None, "dataset", "experiment") or width or converted
        ]
    except ValueError as error:
        wrong = [str(error)]
    if wrong or not template.strip():
        raise InputError(
            f"registered_model: unknown placeholder '{wrong[0]}' in '{template}'"
            if wrong
            else "registered_model: the name is empty",
            where=where,
            remedy="known: {dataset}, {experiment}",
        )


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings and lists of mappings as one level with dotted names.

    >>> flatten({"a": {"b": 1}, "c": [{"d": 2}]})
    {'a.b': 1, 'c.0.d': 2}
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            flat |= flatten({str(i): item for i, item in enumerate(value)}, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def git_commit() -> str:
    """The commit of the working directory's checkout, with `+` where files differ; empty outside one."""
    try:
        commit = _git("rev-parse", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    result = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def _exists(run_id: str) -> bool:
    try:
        mlflow.get_run(run_id)
    except MlflowException:
        return False
    return True


def _metrics(
    values: Mapping[str, float], step: int, model_id: str | None = None, data: Data | None = None
) -> list[Metric]:
    now = int(datetime.now().timestamp() * 1000)
    name, digest = (None, None) if data is None else (data.name, data.digest)
    return [
        Metric(k, float(v), now, step, model_id, name, digest)
        for k, v in values.items()
        if v == v and abs(v) != float("inf")
    ]
