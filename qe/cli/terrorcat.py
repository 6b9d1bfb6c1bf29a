"""`qe terrorcat`: train and apply a metric of error classes, from rankings."""

import json
from pathlib import Path
from typing import Annotated

import typer

from qe.cli._application import Application
from qe.cli._common import held
from qe.cli._options import Json, Quiet, output_option, seed_option
from qe.cli._progress import progress_bar
from qe.display.numbers import number, percent

app = Application()

Outputs = Annotated[
    list[str],
    typer.Option(metavar="SYSTEM=FILE...", help="Translations of each system, one per line."),
]
Reference = Annotated[Path, typer.Option(help="Reference translations, line by line.")]
Names = Annotated[
    Path | None, typer.Option("--segments", help="Names of the segments. (default: line numbers from 1)")
]


@app.callback()
def terrorcat() -> None:
    """TerrorCat: compares translations in pairs by their error classes; trained on human rankings."""


@app.command()
def train(
    rankings: Annotated[
        list[Path],
        typer.Option(metavar="FILE...", help="Human rankings, as `qe rank` reads them."),
    ],
    outputs: Outputs,
    reference: Reference,
    target_language: Annotated[str, typer.Option(help="ISO 639 code of the translations, such as en.")],
    output: Annotated[Path, output_option("--output", "-o", help="Folder of the model.")],
    pair: Annotated[str | None, typer.Option(help="Language pair of the rankings: Czech-English.")] = None,
    segments: Names = None,
    learner: Annotated[
        str, typer.Option(help="A learner of the project, such as ridge, svr_linear.")
    ] = "ridge",
    human_reference: Annotated[str, typer.Option(help="Name of the reference in the rankings.")] = "_ref",
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Learn from pairs with the reference, too: no errors.")
    ] = False,
    seed: Annotated[int, seed_option("Seed of the learner.")] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Trains the classifier from rankings and the translations that were ranked.

    Example:

        qe terrorcat train --rankings wmt11.csv.gz --pair Czech-English --outputs cu-bojar=cu.en
        online-B=b.en --reference ref.en --target-language en --output terrorcat-cs-en
    """
    from features.basics.errors import InputError
    from features.storage.files import read_lines
    from qe.people.judgements.collection import Collection
    from qe.people.judgements.reading import chosen_pairs, format_of
    from qe.people.terrorcat.frequencies import error_frequencies, read_texts
    from qe.people.terrorcat.model import train as train_model
    from qe.people.terrorcat.ranked_pairs import ranked_pairs

    files = _systems(outputs)
    inputs = [*rankings, reference, segments, *files.values()]
    with held(output, "terrorcat", inputs), progress_bar(quiet or as_json) as progress:
        texts, lines = read_texts(files, reference)
        collection = Collection()
        for path in rankings:
            format_of(path).read(path, collection)
        judged = collection.judged_pairs()
        if pair is None and len(judged) > 1:
            raise InputError("which language pair?", remedy=f"choose one with --pair: {', '.join(judged)}")
        (chosen,) = chosen_pairs(judged, [] if pair is None else [pair]).values()
        pairs = ranked_pairs(chosen, None if with_reference else human_reference)
        names = None if segments is None else list(read_lines(segments))
        frequencies = error_frequencies(texts, lines, target_language, names, progress)
        model = train_model(
            pairs, collection.segments.texts, frequencies, target_language,
            learner=learner, reference=human_reference, seed=seed, progress=progress,
        )  # fmt: skip
        model.save(output)
    if as_json:
        typer.echo(json.dumps({"output": str(output), "slope": model.slope, **model.about}, indent=1))
    elif not quiet:
        about = model.about
        left = {name: about[f"left_out_{name}"] for name in ("equal", "conflicting", "without_translation")}
        typer.echo(
            f"{about['pairs']} ranked pairs of {about['segments']} segments; left out: {left['equal']} equal,"
            f" {left['conflicting']} with tied votes, {left['without_translation']} without translation"
        )
        typer.echo(
            f"held out, {percent(about['held_out_accuracy'])} of the pairs are ordered as people did"
            f" ({percent(about['held_out_equal'])} not told apart)"
        )
        typer.echo(f"model: {output}")


@app.command()
def score(
    model: Annotated[Path, typer.Option(help="Folder that `qe terrorcat train` made.")],
    outputs: Outputs,
    reference: Reference,
    output: Annotated[
        Path, output_option("--output", "-o", help="Table system, segment, terrorcat: .tsv, .csv, ...")
    ],
    segments: Names = None,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="A win counts 1, however sure the classifier is.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Scores the translations of several systems by the pairs that they win; `qe correlate` reads the table.

    Example:

        qe terrorcat score --model terrorcat-cs-en --outputs a=a.en b=b.en c=c.en --reference ref.en
        --output terrorcat.tsv
    """
    import numpy as np
    import pandas as pd

    from features.storage.files import read_lines
    from features.storage.outputs import check_apart
    from qe.data.labels import check_output, save_table
    from qe.people.terrorcat.frequencies import error_frequencies, read_texts
    from qe.people.terrorcat.model import TerrorCat

    check_output(output)
    files = _systems(outputs)
    inputs = [
        reference,
        *([segments] if segments else []),
        *files.values(),
    ]
    check_apart(output, inputs)
    trained = TerrorCat.load(model)
    texts, lines = read_texts(files, reference)
    names = None if segments is None else list(read_lines(segments))
    with progress_bar(quiet or as_json) as progress:
        frequencies = error_frequencies(texts, lines, trained.language, names, progress)
        scores = trained.scores(frequencies, weighted=not unweighted)
    n, k = scores.shape
    save_table(
        pd.DataFrame({
            "system": np.tile(frequencies.systems, n),
            "segment": np.repeat(frequencies.segments, k),
            "terrorcat": scores.ravel(),
        }),
        output,
    )  # fmt: skip
    means = dict(zip(frequencies.systems, map(float, scores.mean(axis=0)), strict=True))
    ordered = dict(sorted(means.items(), key=lambda item: -item[1]))
    if as_json:
        typer.echo(json.dumps({"systems": ordered, "segments": n}, indent=1))
    elif not quiet:
        for system, mean in ordered.items():
            typer.echo(f"{number(mean, 4)}  {system}")
        typer.echo(f"per segment: {output}")


def _systems(outputs: list[str]) -> dict[str, Path]:
    """System -> its translations."""
    from features.basics.assignments import assignments

    named = assignments(outputs, "SYSTEM=FILE", "--outputs")
    return {system: Path(path) for system, path in named.items()}
