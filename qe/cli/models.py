"""`qe models`: list registered models with metrics and data; delete, sign."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._application import Application
from qe.cli._common import print_json
from qe.cli._options import Json

if TYPE_CHECKING:
    from qe.tracking.registry import Version

Name = Annotated[str, typer.Argument(metavar="NAME", help="A registered model.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be deleted.")]
Model = Annotated[str, typer.Argument(help="Model folder, or models:/NAME@champion.")]


app = Application(default="list")


@app.callback()
def models() -> None:
    """List registered models, delete versions; sign models, and verify signatures.

    Example:

        qe models qe-demo
    """


@app.command(name="list")
def list_(
    name: Annotated[str | None, typer.Argument(help="One registered model; default: all of them.")] = None,
    as_json: Json = False,
) -> None:
    """List registered models: versions with aliases, metrics, data and fingerprints.

    Example:

        qe models qe-demo
    """
    from dataclasses import asdict

    from qe.display.terminal import show
    from qe.tracking import registry
    from qe.tracking.registry_table import versions_table

    names = registry.model_names() if name is None else [name]
    versions = [version for one in names for version in registry.model_versions(one)]
    if as_json:
        print_json("models-list", {"models": [{**asdict(v), "uri": v.uri} for v in versions]})
    elif versions:
        show(versions_table(versions))
    else:
        print("no models are registered yet; `qe train` registers what it trains")


@app.command()
def delete(
    name: Name,
    versions: Annotated[list[str], typer.Argument(metavar="VERSION ...", help="Numbers of versions.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Delete versions of a registered model; none that an alias names.

    The files go when MLflow collects them (`mlflow gc`). Output folders of runs stay.

    Example:

        qe models delete qe-demo 2 3
    """
    from qe.tracking.housekeeping import chosen

    _delete(chosen(name, versions), dry_run, as_json)


@app.command(name="keep-last")
def keep_last(
    name: Name,
    number: Annotated[int, typer.Argument(metavar="N", min=0, help="How many of the newest stay.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Delete all versions but the last N.

    Versions with an alias, and the one that a rollback goes back to, stay, too.

    Example:

        qe models keep-last qe-demo 5
    """
    from qe.tracking.housekeeping import to_delete

    _delete(to_delete(name, number), dry_run, as_json)


def _delete(versions: "Sequence[Version]", dry_run: bool, as_json: bool) -> None:
    from qe.tracking.housekeeping import delete as delete_versions

    if not dry_run:
        delete_versions(versions)
    if as_json:
        print_json("models-delete", {"deleted": not dry_run, "versions": [v.uri for v in versions]})
        return
    what = "would be deleted" if dry_run else "deleted"
    for version in versions:
        print(f"{version.uri}: {what}")
    if not versions:
        print("no version to delete")


@app.command()
def sign(
    model: Model,
    key: Annotated[Path, typer.Option(help="Private key (Ed25519, PEM).")],
    as_json: Json = False,
) -> None:
    """Sign a model: its files and their checksums, all of them.

    `qe score` and `qe serve` with --require-signature load nothing else. Keys are made by OpenSSL:

        openssl genpkey -algorithm ed25519 -out key.pem

        openssl pkey -in key.pem -pubout -out key.pub

    Example:

        qe models sign output/demo/model --key key.pem
    """
    from qe.api.models import sign_model

    folder, fingerprint = sign_model(model, key)
    _report(folder, fingerprint, "signed with", as_json)


@app.command()
def verify(
    model: Model,
    key: Annotated[Path, typer.Option(help="Public key (Ed25519, PEM).")],
    as_json: Json = False,
) -> None:
    """Verify that a model is what was signed with a key: exit code 0, or 2 and what is wrong.

    Example:

        qe models verify output/demo/model --key key.pub
    """
    from qe.api.models import model_folder
    from qe.models.signatures import verify as verified

    folder, _ = model_folder(model)
    _report(folder, verified(folder, key), "is what was signed with", as_json)


def _report(folder: Path, fingerprint: str, what: str, as_json: bool) -> None:
    if as_json:
        print_json("models-sign", {"model": str(folder), "key": fingerprint})
    else:
        print(f"{folder}: {what} the key {fingerprint}")
