"""`qe terrorcat`: train, apply and check a metric of error classes, from rankings."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from features.basics.errors import InputError
from features.basics.progress import Progress
from qe.cli.shared.application import Application
from qe.cli.shared.printing import Result, Verbatim
from qe.display.numbers import number, percent
from qe.statistics.settings import Seed

if TYPE_CHECKING:
    from qe.language.taggers import Tagger
    from qe_human.judgements.collection import Collection, JudgedPair
    from qe_human.terrorcat import Frequencies

app = Application()


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The translations whose errors are counted.

    options:
      --outputs SYSTEM=FILE...  Translations of each system, one per line.
      --reference FILE  Reference translations, line by line.
      --segments FILE  Names of the segments. (default: line numbers from 1)
    """

    outputs: list[str]
    reference: Path
    segments: Path | None = None

    def frequencies(self, language: str, annotator: "Tagger | None", progress: Progress) -> "Frequencies":
        from features.basics.assignments import assignments
        from features.storage.files import read_lines
        from qe_human.terrorcat import error_frequencies, read_texts

        paths = assignments(self.outputs, "SYSTEM=FILE", "--outputs")
        texts, lines = read_texts({name: Path(path) for name, path in paths.items()}, self.reference)
        names = None if self.segments is None else list(read_lines(self.segments))
        return error_frequencies(texts, lines, language, names, progress, annotator)


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """Human rankings of them.

    options:
      --rankings FILE...  Human rankings, as `qe rank` reads them.
      --pair PAIR  Language pair of the rankings: Czech-English.
      --human-reference NAME  Name of the reference in the rankings.
    """

    rankings: list[Path]
    pair: str | None = None
    human_reference: str = "_ref"

    def read(self) -> "tuple[Collection, JudgedPair]":
        from qe_human.judgements.reading import chosen_pairs, collected

        collection = collected(self.rankings)
        judged = collection.judged_pairs()
        if self.pair is None and len(judged) > 1:
            raise InputError("which language pair?", remedy=f"choose one with --pair: {', '.join(judged)}")
        (chosen,) = chosen_pairs(judged, [] if self.pair is None else [self.pair]).values()
        return collection, chosen


@app.command()
def train(
    judged: RankingOptions,
    texts: OutputOptions,
    target_language: str,
    output: Path,
    progress: Progress,
    learner: str = "ridge",
    overrides: list[str] | None = None,
    tagger: str | None = None,
    with_reference: bool = False,
    seed: Seed = 0,
) -> Result:
    """Trains the classifier from rankings and the translations that were ranked.

    Example:

        qe terrorcat train --rankings wmt11.csv.gz --pair Czech-English --outputs cu-bojar=cu.en
        online-B=b.en --reference ref.en --target-language en --output terrorcat-cs-en

    options:
      --target-language  ISO 639 code of the translations, such as en.
      --learner  A learner of the project, such as ridge, svr_linear.
      --set NAME=VALUE...  Parameters of the learner, such as alpha=10.
      --tagger NAME  Count errors by general part of speech, too: apertium, a folder of annotators, ...
      --with-reference  Learn from pairs with the reference, too: no errors.
      --seed N  Seed of the learner.

    output:
      -o, --output DIR  Folder of the model.
    """
    from qe.config.overrides import override
    from qe_human.terrorcat import ranked_pairs
    from qe_human.terrorcat import train as train_model

    annotator = _tagger(tagger, target_language)
    parameters: dict[str, Any] = {}
    for text in overrides or ():
        override(parameters, text)
    collection, chosen = judged.read()
    pairs = ranked_pairs(chosen, None if with_reference else judged.human_reference)
    frequencies = texts.frequencies(target_language, annotator, progress)
    model = train_model(
        pairs, collection.segments.texts, frequencies, target_language, learner=learner,
        learner_params=parameters, reference=judged.human_reference, seed=seed, progress=progress,
    )  # fmt: skip
    if annotator is not None:
        model.about.update(tagger=tagger, tagger_fingerprint=annotator.fingerprint)
    model.save(output)
    about = model.about
    left = {name: about[f"left_out_{name}"] for name in ("equal", "conflicting", "without_translation")}
    lines = [
        f"{about['pairs']:,} ranked pairs of {about['segments']:,} segments; left out: "
        f"{left['equal']} equal, {left['conflicting']} with tied votes, {left['without_translation']} "
        "without translation",
        f"held out, {percent(about['held_out_accuracy'])} of the pairs are ordered as people did"
        f" ({percent(about['held_out_equal'])} not told apart)",
        f"model: {output}",
    ]
    content = {"output": str(output), "slope": model.slope, **about}
    return Result("terrorcat-train", content, map(Verbatim, lines), brief=True)


@app.command()
def score(
    model: Path,
    texts: OutputOptions,
    output: Path,
    progress: Progress,
    tagger: str | None = None,
    unweighted: bool = False,
) -> Result:
    """Score the translations of several systems by the pairs that they win.

    `qe correlate` reads the table.

    Example:

        qe terrorcat score --model terrorcat-cs-en --outputs a=a.en b=b.en c=c.en --reference ref.en
        --output terrorcat.tsv

    options:
      --model  Folder that `qe terrorcat train` made.
      --tagger NAME  The model's tagger. (default: where it was in training)
      --unweighted  A win counts 1, however sure the classifier is.

    output:
      -o, --output FILE  Table system, segment, terrorcat: .tsv, .csv, ...
    """
    import numpy as np
    import pandas as pd

    from qe.data.writing import check_output, save_table
    from qe_human.terrorcat import TerrorCat

    check_output(output)
    trained = TerrorCat.load(model)
    annotator = _same_tagger(trained.about, tagger, trained.language)
    frequencies = texts.frequencies(trained.language, annotator, progress)
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
    lines = [f"{number(mean, 4)}  {system}" for system, mean in ordered.items()]
    parts = map(Verbatim, [*lines, f"per segment: {output}"])
    return Result("terrorcat-score", {"systems": ordered, "segments": n}, parts)


@app.command()
def confusion(
    model: Path,
    judged: RankingOptions,
    texts: OutputOptions,
    progress: Progress,
    tagger: str | None = None,
) -> Result:
    """Show how often a model agrees with human judgements, by its confidence.

    Rankings are those that it was not trained on.

    Pairs count in both directions: <, =, > mean that the first translation is worse, equal, better.

    Example:

        qe terrorcat confusion --model terrorcat-cs-en --rankings wmt12.csv.gz --pair Czech-English
        --outputs a=a.en b=b.en --reference ref.en

    options:
      --model  Folder that `qe terrorcat train` made.
      --tagger NAME  The model's tagger. (default: where it was in training)
    """
    from qe_human.terrorcat import TerrorCat, ranked_pairs
    from qe_human.terrorcat import confusion as confusion_of

    trained = TerrorCat.load(model)
    annotator = _same_tagger(trained.about, tagger, trained.language)
    collection, chosen = judged.read()
    frequencies = texts.frequencies(trained.language, annotator, progress)
    pairs, reference = ranked_pairs(chosen, judged.human_reference), judged.human_reference
    told = confusion_of(trained, pairs, collection.segments.texts, frequencies, reference)
    return Result("terrorcat-confusion", told.to_json(), told.tables())


def _tagger(name: str | None, language: str) -> "Tagger | None":
    if name is None:
        return None
    from qe.language.taggers import tagger

    return tagger(name, language, "es" if language == "en" else "en", texts_per_process=2000)


def _same_tagger(about: dict[str, Any], tagger_name: str | None, language: str) -> "Tagger | None":
    trained = about.get("tagger")
    if trained is None and tagger_name is not None:
        raise InputError("the model counts no parts of speech", location="--tagger", remedy="leave it out")
    annotator = _tagger(tagger_name or trained, language)
    if annotator is not None and annotator.fingerprint != about.get("tagger_fingerprint"):
        raise InputError(
            f"the model was trained with another tagger than '{tagger_name or trained}' is now",
            location="--tagger",
            remedy="name that one, or train the model again",
        )
    return annotator
