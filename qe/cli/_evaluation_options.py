"""Options of `qe evaluate`, `qe evaluate words` and `qe compare`: buckets, oracles, words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from features.basics.errors import InputError, did_you_mean, known_name
from qe.cli.shared.options import Resamples, Seed

if TYPE_CHECKING:
    from features.basics.array_types import FloatArray
    from qe.data.dataset import LabelScale
    from qe.data.score_files import ScoreFile
    from qe.evaluation.oracles import Oracle, PostEdited
    from qe.statistics.buckets import Buckets

Text = tuple[str, Sequence[str]]  # a name and lines


@dataclass(frozen=True)
class BucketOptions:
    """Buckets of segments within which systems are compared."""

    bucket: list[str] | None = None
    bands: Annotated[int | None, typer.Option(min=2)] = None
    corpus: Path | None = None

    @property
    def _kinds(self) -> list[tuple[str, str]]:
        return [(kind, files) for kind, _, files in (text.partition("=") for text in self.bucket or ())]

    def files(self) -> list[Path]:
        named = [Path(path) for _, files in self._kinds for path in files.split(",") if path]
        return named if self.corpus is None else [*named, self.corpus]

    def read(self, text: Text | None, predictions: "Sequence[FloatArray]" = ()) -> "list[Buckets]":
        """The buckets; `length` and `rare` are of `text`, `quality` of the mean of `predictions`."""
        from qe.data.buckets import RARE

        kinds = [kind for kind, _ in self._kinds]
        if not kinds and self.bands is not None:
            raise InputError("--bands is for buckets", remedy="add --bucket")
        if self.corpus is not None and RARE not in kinds:
            raise InputError("--corpus defines rare words", remedy="add --bucket rare")
        return [self._read(kind, files, text, predictions) for kind, files in self._kinds]

    def _read(
        self, kind: str, files: str, text: Text | None, predictions: "Sequence[FloatArray]"
    ) -> "Buckets":
        from features.storage.files import read_lines
        from qe.data import buckets
        from qe.statistics.buckets import BANDS

        count = BANDS if self.bands is None else self.bands
        if kind in (buckets.LENGTH, buckets.RARE):
            if files:
                text = Path(files).name, list(read_lines(Path(files)))
            if text is None:
                raise InputError(f"--bucket {kind} has no text", remedy=f"give --bucket {kind}=FILE")
            if kind == buckets.LENGTH:
                return buckets.by_length(text[1], text[0], count)
            return buckets.by_rare_words(text[1], text[0], self.corpus, count)
        if kind == buckets.QUALITY and not files and predictions:
            return buckets.by_quality(predictions, "predictions", count)
        if not kind or not files:
            shown, name = kind or f"={files}", kind or "NAME"
            near = did_you_mean(kind, (buckets.LENGTH, buckets.RARE, buckets.QUALITY))
            raise InputError(f"--bucket {shown} names no file", remedy=f"give --bucket {name}=FILE{near}")
        if kind == buckets.QUALITY:
            return buckets.read_quality([Path(path) for path in files.split(",")], count)
        return buckets.read_column(kind, Path(files), count)


@dataclass(frozen=True)
class OracleOptions:
    """Oracles that are scored too.

    oracles:
      --oracle hter|bleu|effort  Also score what knows the post-edits (hter, bleu) or the labels (effort).
          Repeatable.
      --target FILE  Translations, one per line.
      --post-edit FILE  Their post-edits.
    """

    oracle: list[str] | None = None
    target: Path | None = None
    post_edit: Path | None = None
    target_language: str | None = None

    def scored(
        self, gold: "ScoreFile", scale: "LabelScale", groups: Mapping[str, list[str]] | None,
        samples: int | None, seed: int,
    ) -> "dict[str, Oracle]":  # fmt: skip
        from qe.evaluation.oracles import ORACLES, oracle

        names = self.oracle or ()
        for name in names:
            known_name("oracle", name, ORACLES)
        texts = self._texts(gold)
        return {
            name: oracle(name, gold.scores, scale, texts, groups=groups, samples=samples, seed=seed)
            for name in names
        }

    def _texts(self, gold: "ScoreFile") -> "PostEdited | None":
        from features.text.tokenizer import Tokenizer
        from qe.data.reading import Reading
        from qe.evaluation.oracles import PostEdited

        names = [name for name in self.oracle or () if name != "effort"]
        if not names:
            return None
        if self.target is None or self.post_edit is None:
            raise InputError(
                f"the oracle {names[0]} compares translations with post-edits",
                remedy="give --target and --post-edit",
            )
        if "hter" in names and self.target_language is None:
            raise InputError("the oracle hter tokenizes the translations", remedy="give --target-language")
        columns = []
        for path in (self.target, self.post_edit):
            lines = Reading(Path()).lines(path).texts
            if len(lines) != len(gold.scores):
                counts = f"{len(lines)} lines, but {len(gold.scores)} gold labels in {gold.path}"
                raise InputError(counts, location=path)
            columns.append(lines)
        return PostEdited(columns[0], columns[1], Tokenizer(self.target_language or "en", normalise=False))


@dataclass(frozen=True, kw_only=True)
class WordOptions:
    """How probabilities become tags, and what is compared.

    input:
      --layout tags|words|gaps|source  Content of a line; tags: gap, word, gap, word, ..., gap.
      --source-gold FILE  Gold tags of source words, which are evaluated too.
      --source-predictions [NAME=]FILE...  Source words of systems whose own files do not contain them.

    probabilities as tags:
      --threshold P  A word is BAD if P(BAD) is at least this. (default: the tags of the file)
      --tune [NAME=]FILE...  Or: choose thresholds with these P(BAD) of a development set.
      --tune-gold FILE  Gold tags of the development set.
      --folds N  Or: choose thresholds by cross-validation with this number of folds.
      --thresholds-by mcc|f1_mult  Metric that chosen thresholds maximise.
    """

    layout: str = "tags"
    source_gold: Path | None = None
    source_predictions: list[str] | None = None
    threshold: Annotated[float | None, typer.Option(min=0, max=1)] = None
    tune: list[str] | None = None
    tune_gold: Path | None = None
    folds: Annotated[int | None, typer.Option(min=2)] = None
    thresholds_by: str = "mcc"
    baseline: list[str] | None = None
    samples: Resamples = None
    seed: Seed = 0
    correct: str = "holm"
    family: str = "metric"
