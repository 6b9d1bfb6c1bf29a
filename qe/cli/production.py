"""`qe score`: score new translations with a trained model.
`qe serve`: answer scoring requests over HTTP.
`qe models`: list registered models with metrics and data; delete, sign.
`qe distill`: train a small, fast model on the scores of a large one.
`qe unsupervised`: train a quality model without human labels.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval

from features.basics.errors import InputError
from features.basics.progress import Progress
from qe.cli.shared.application import Application
from qe.cli.shared.options import ExperimentOptions, ScoreOptions, TableOptions
from qe.cli.shared.printing import Result, tell_refused

if TYPE_CHECKING:
    from qe.production.server.service import Service
    from qe.tracking.registry import Version


def score(options: ScoreOptions) -> None:
    """Score new translations: one row out (id, score, reason) for every row in, in order.

    The input has columns `source` and `target`, and may have `id`. A row that cannot be scored has a reason
    instead of a score. A warning on stderr reports an input that differs from the training data.

    With --tokens, `tokens` are the words of the translation, `bad` the probability that each is wrong, `gaps`
    that words are missing before each and after the last; if the model has learned them, also `tags`,
    `gap_tags`, `spans` of BAD words, and the same for the source (docs/word-level.md).

    XLIFF and TMX are scored into the same format with a note for every segment, XLSX into one with more
    columns; or into a table, or a workbook for reviewers, review.xlsx (docs/scoring.md).

    Exit code 0: done; 1: done, but no row was scored, or a condition of --fail-if holds; 2: bad input.

    With Spark the input is any address that Spark reads and the output a folder of parts, with the same rows
    to the last bit (docs/scale.md).

    Examples:

        qe score --model output/demo/model --input output/demo/data/new.tsv --output scores.tsv

        qe score --model output/demo/model -i mt.csv --columns source=src,target=mt --keep -o scored.csv

        qe score --model output/demo/model --input new.tsv --output scores.tsv --triage costs.yaml --flags

        qe score --model output/mlqe/model --input new.tsv --output scores.jsonl --tokens --tags mcc

        qe score --model output/demo/model --input project.xlf --output project.scored.xlf

        qe score --model output/demo/model --input project.xlf --output review.xlsx --triage costs.yaml
    """
    from qe.cli._score_job import ScoreJob

    ScoreJob(options).run()


def serve(
    model: str | None = None,
    models: Path | None = None,
    host: str = "127.0.0.1",
    port: Annotated[int, Interval(ge=0, le=65535)] = 5002,
    allowed_hosts: str = "",
    trusted_proxies: str = "",
    interval: float | None = None,
    triage: Path | None = None,
    missing_columns: str = "error",
    max_bytes: int = 8 << 20,
    max_rows: int = 5000,
    max_seconds: int = 60,
    max_busy: int = 4,
    max_connections: int = 400,
    drift_rows: Annotated[int, Interval(ge=0)] = 10000,
    refresh: Annotated[float, Interval(ge=0)] = 0.0,
    require_signature: Path | None = None,
    quiet: bool = False,
) -> None:
    """Answer scoring requests over HTTP, with limits: MLflow's scoring protocol.

    POST /invocations {"dataframe_records": [{"source": ..., "target": ...}]} returns a score per segment, or
    the reason why there is none; "params": {"interval": 0.9, "explain": 3, "triage": true} adds columns.
    GET /health: the server runs; /ready: the model is loaded; /version: which model; /metrics: for
    Prometheus; /docs: for people. There is no authentication: put a proxy in front of it to serve other
    machines (docs/serving.md, docs/security.md).

    SIGHUP, or --refresh 60, loads the model that the name now points to: no request is lost, and if the new
    model cannot be loaded, the log has the reason and the old one stays.

    Example:

        qe serve --model models:/qe-demo@champion --port 5002

        qe serve --model output/mine/model --missing-columns impute

    options:
      -m, --model MODEL  Folder of a model or its run, or models:/NAME@champion.
      --models ROUTES  YAML: which model scores which rows, as in `qe score`.
      --host ADDRESS  Address to listen on. (default: 127.0.0.1, this machine only)
      --port N  Port to listen on.
      --allowed-hosts NAMES  Host names to answer to besides loopback and --host, such as a,b; * for any.
      --trusted-proxies ADDRESSES  Proxies whose X-Forwarded-For names the client. (default: none)
      --interval SHARE  Also return low and high, which contain this share of true labels, such as 0.9.
      --triage FILE  Output of `qe triage --json`: requests can ask for actions.
      --missing-columns error|impute  Columns that features read by name and a request lacks: status 422, or
          values as for missing ones. (default: error)
      --require-signature PEM  Load the model only if it is signed with this public key.
      -q, --quiet  Do not log requests.

    limits:
      --max-bytes N  Largest body of a request, in bytes; larger: status 413.
      --max-rows N  Most segments in a request; more: status 422.
      --max-seconds N  Longest time for an answer, in seconds; longer: status 504.
      --max-busy N  Requests that are scored at the same time; more: status 503.
      --max-connections N  Connections that are open at the same time.
      --drift-rows N  Most recent segments that /metrics compares with the training data; 0: none.
      --refresh SECONDS  Look for a new model at this interval; 0: only at SIGHUP.
    """
    from qe.cli.shared.printing import chosen_routes
    from qe.production.server.app import Hosts, check_proxies
    from qe.production.server.protocol import Limits
    from qe.production.serving import Renewal, address_of, bound
    from qe.production.serving import serve as answer_requests

    routes = chosen_routes(model, models)
    if models is not None and triage is not None:
        raise InputError("--triage is for one model", remedy="leave it out with --models")
    limits = Limits(max_bytes, max_rows, max_seconds, max_busy, max_connections)
    trusted = check_proxies([name for name in trusted_proxies.split(",") if name])
    hosts = Hosts.from_names([name for name in allowed_hosts.split(",") if name], host)

    def service_of(name: str) -> "Service":
        from qe.api.models import model_folder
        from qe.cli.shared.printing import registered
        from qe.production.server.service import Service

        folder, identity = model_folder(name, require_signature)
        version = registered(name, folder)
        return Service.load(
            folder, limits, identity=identity, level=interval, triage=triage, registered=version,
            drift_rows=drift_rows, missing_columns=missing_columns,
        )  # fmt: skip

    def load() -> "Service":
        from qe.production.server.service import RoutedService

        if models is None:
            return service_of(routes[0].model)
        services = {name: service_of(name) for name in dict.fromkeys(route.model for route in routes)}
        chosen = [services[route.model] for route in routes]
        return RoutedService.from_routes(models.name, routes, chosen, limits)

    def is_loaded(service: "Service") -> bool:
        from qe.api.models import is_current

        abouts = service.about.get("routes")
        loaded = [abouts[route.name] for route in routes] if abouts else [service.about]
        return all(
            is_current(route.model, about["registered"], about["fingerprint"])
            for route, about in zip(routes, loaded, strict=True)
        )

    with bound(host, port) as held:
        address = address_of(held)

        def loaded(service: "Service") -> None:
            name = service.about["model"]
            with suppress(OSError):  # a full disk ends no server
                print(f"serving '{name}' on http://{address}/invocations", file=sys.stderr, flush=True)

        renewal = Renewal(load, is_loaded, refresh)
        answer_requests(
            renewal, held, limits, hosts=hosts, trusted_proxies=trusted, quiet=quiet, loaded=loaded
        )


models = Application(default="list")


@models.command(name="list")
def list_(name: str | None = None) -> Result:
    """List registered models: versions with aliases, metrics, data and fingerprints.

    Example:

        qe models qe-demo

    arguments:
      name  A registered model. (default: all)
    """
    from qe.tracking import registry
    from qe.tracking.registry import versions_table

    names = registry.model_names() if name is None else [name]
    versions = [version for one in names for version in registry.model_versions(one)]
    content = {"models": [{**asdict(version), "uri": version.uri} for version in versions]}
    empty = "no models are registered yet; `qe train` registers what it trains"
    return Result("models-list", content, [versions_table(versions) if versions else empty])


@models.command()
def delete(name: str, versions: list[str], dry_run: bool = False) -> Result:
    """Delete versions of a registered model; versions with an alias are refused.

    The files are removed when MLflow collects them (`mlflow gc`). Output folders of runs stay.

    Example:

        qe models delete qe-demo 2 3

    arguments:
      name NAME  A registered model.
      versions VERSION ...  Numbers of versions.

    options:
      --dry-run  Only show what would be deleted.
    """
    from qe.tracking.registry import select_versions

    return _delete(select_versions(name, versions), dry_run)


@models.command(name="keep-last")
def keep_last(name: str, number: Annotated[int, Interval(ge=0)], dry_run: bool = False) -> Result:
    """Delete all versions except the last N.

    Versions with an alias, and the one that a rollback returns to, also stay.

    Example:

        qe models keep-last qe-demo 5

    arguments:
      name NAME  A registered model.
      number N  How many of the newest versions stay.

    options:
      --dry-run  Only show what would be deleted.
    """
    from qe.tracking.registry import to_delete

    return _delete(to_delete(name, number), dry_run)


def _delete(versions: "Sequence[Version]", dry_run: bool) -> Result:
    from qe.tracking.registry import delete as delete_versions

    if not dry_run:
        delete_versions(versions)
    action = "would be deleted" if dry_run else "deleted"
    shown = [f"{version.uri}: {action}" for version in versions] or ["no version to delete"]
    content = {"deleted": not dry_run, "versions": [v.uri for v in versions]}
    return Result("models-delete", content, shown)


@models.command()
def sign(model: str, key: Path) -> Result:
    """Sign a model: all of its files and their checksums.

    With --require-signature, `qe score` and `qe serve` load signed models only. OpenSSL makes the keys:

        openssl genpkey -algorithm ed25519 -out key.pem

        openssl pkey -in key.pem -pubout -out key.pub

    Example:

        qe models sign output/demo/model --key key.pem

    arguments:
      model  Folder of a model or its run, or models:/NAME@champion.

    options:
      --key FILE  Private key (Ed25519, PEM).
    """
    from qe.api.models import sign_model

    folder, fingerprint = sign_model(model, key)
    content = {"model": folder, "key": fingerprint}
    return Result("models-sign", content, [f"{folder}: signed with the key {fingerprint}"])


@models.command()
def verify(model: str, key: Path) -> Result:
    """Verify that a model is unchanged since it was signed with a key; if not, exit code 2 and the reason.

    Example:

        qe models verify output/demo/model --key key.pub

    arguments:
      model  Folder of a model or its run, or models:/NAME@champion.

    options:
      --key FILE  Public key (Ed25519, PEM).
    """
    from qe.api.models import model_folder
    from qe.models.signatures import verify as verified

    folder, _ = model_folder(model)
    fingerprint = verified(folder, key)
    content = {"model": folder, "key": fingerprint}
    return Result("models-sign", content, [f"{folder}: is what was signed with the key {fingerprint}"])


def distill(
    model: str,
    input_: Path,
    output: Path,
    table: TableOptions,
    settings: ExperimentOptions,
    progress: Progress,
    student: str | None = None,
    overwrite: bool = False,
    require_signature: Path | None = None,
) -> Result:
    """Train a small model on the scores that a large one gives to text without labels.

    The student is a model like any other: `qe score`, `qe serve`, `qe evaluate` and MLflow take it. Its
    figures measure how well it follows the teacher, not human labels: evaluate both on labelled segments. Use
    text that the teacher was not trained on, the more the better.

    Example:

        qe distill --model output/demo/model --input output/demo/data/new.tsv --output output/student

    input:
      -m, --model MODEL  The teacher: folder of a model or its run, or models:/NAME@champion.
      -i, --input FILE  Translations without labels: a table, XLSX, XLIFF or TMX.
      --student words|surface|FILE  words: with word-level models; surface: without resources; or your own
          experiment, whose dataset is not read. (default: words, if the teacher scores words and has
          resources)

    output:
      -o, --output DIR  Folder of the student's run and model.
    """
    from features.storage.outputs import check_no_overlap
    from qe.api.models import model_folder
    from qe.cli._summary import outcome_parts
    from qe.models.model import Model
    from qe.production.distillation.distill import learns_words, student_of, taught
    from qe.scoring.scorer import languages_of
    from qe.scoring.word_level import WordLevel
    from qe.training.check import check
    from qe.training.train import train

    folder, identity = model_folder(model, require_signature)
    teacher = Model.load(folder, identity)
    experiment = student_of(teacher, student, settings.data_root, settings.overrides or ())
    words = learns_words(experiment)
    if words:
        WordLevel.from_model(teacher, location="--student")  # raises for a teacher without word level
    plan = check(experiment, in_memory=True)
    check_no_overlap(output, [input_, folder, *experiment.inputs()])
    pool = table.pool(input_, languages_of(teacher))
    dataset = taught(teacher, pool, input_, progress, words=words)
    outcome = train(
        plan, output, cache=settings.cache, dataset=dataset, overwrite=overwrite, progress=progress
    )
    tell_refused("distill", pool.refused, input_)
    return Result("report", outcome.report, outcome_parts(outcome))


def unsupervised(
    data: Path,
    source_language: str,
    target_language: str,
    output: Path,
    table: TableOptions,
    progress: Progress,
    parallel: tuple[Path, Path] | None = None,
    encoder: str | None = None,
    tokenized: bool = False,
    cache_dir: Path | None = None,
) -> Result:
    """Train a quality model without human labels.

    It uses up to three signals: the similarity of source and translation in the space of an encoder
    (--encoder); the probability that words of the translation are wrong, learned from parallel text
    (--parallel); and the probability that a neural decoder gave its own output, if the table has the columns
    `subwords` and `token_log_probabilities`. The score is their mean, in standard deviations from the mean of
    these translations, higher is better: it only orders translations. The model works with `qe score`,
    `qe serve` and MLflow. Labels are needed to measure how good it is (`qe evaluate`); docs/results/wmt18.md
    has figures of such models.

    Example:

        qe unsupervised new.tsv --source-language en --target-language de --parallel train.en.gz train.de.gz
            --output output/unsupervised

        qe score --model output/unsupervised/model --input new.tsv --output scored.tsv

    arguments:
      data  Translations: a table, XLSX, XLIFF or TMX. No labels.

    input:
      --parallel SOURCE TARGET  Parallel text, one sentence per line, plain or gzip.
      --encoder MODEL  One of your encoders (`qe encoders list`), or its folder (./NAME).
      --tokenized  The text is tokenized: split it at whitespace only.

    output:
      -o, --output DIR  Folder of the model.
    """
    import pandas as pd

    from features.encoding.folder import encoder_names
    from qe.api.training import train_without_labels

    pool = table.pool(data, (source_language, target_language))
    made = train_without_labels(
        pd.DataFrame(pool.columns), output, source_language=source_language,
        target_language=target_language, parallel=parallel, encoder=encoder, tokenized=tokenized,
        cache=cache_dir, progress=progress,
    )  # fmt: skip
    tell_refused("unsupervised", pool.refused, data)
    names = " and ".join(made.model.feature_set.names)
    lines = [f"{len(made.features):,} translations, no label: {names}", f"model: {made.folder}"]
    if encoder is None and (encoders := encoder_names()):
        lines.append(f"--encoder {encoders[0]} would add the cosine of source and translation")
    return Result("unsupervised", made, lines)
