"""A model without labels: the average of features standardised on unjudged translations."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.extractor import FittedExtractor
from features.core.feature_set import FeatureSet, checked, parts_needed
from features.core.segments import Segments
from features.core.tree_columns import numbers
from features.encoding.folder import is_path
from features.storage.outputs import locked_folder
from qe.config.experiment import IN_MEMORY, Experiment, from_mapping
from qe.data.dataset import LabelScale
from qe.display.summary import Printable
from qe.display.table import Table
from qe.models.card import requirements
from qe.models.drift import Profile
from qe.models.explanation import Background
from qe.models.model import Model
from qe.models.pipeline import Candidate
from qe.models.training_rows import Learned
from qe.resources.bundle_source import resources_for
from qe.tracking import logged_models, runs
from qe.training.extraction import Extraction
from qe.training.reporting import recipe

MIN_SEGMENTS: Final = 20  # segments: fewer give no useful means and deviations
SCALE: Final = LabelScale("quality", None, None, True)


@dataclass(frozen=True, eq=False)
class Unlabelled(Printable):
    """A model without labels, the table of features that it was made of, and its folder."""

    model: Model
    features: pd.DataFrame
    folder: Path

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "model": str(self.folder),
            "segments": len(self.features),
            "features": self.model.feature_set.names,
            "label": SCALE.name,
            "recipe": self.model.about["recipe"],
        }

    def summary(self) -> Table:
        """The model, and where it lies."""
        return replace(self.model.summary(), notes=[f"folder: {self.folder}"])


def train_without_labels(
    experiment: Experiment, segments: Segments, output: Path, *, cache: Path, progress: Progress = silent
) -> Unlabelled:
    """Writes `output`/model, a model without figures and intervals, and logs it to MLflow.

    Scores are in standard deviations from the mean of the segments, higher is better. Raises InputError for
    fewer than 20 segments, a folder of others, and while another process works there.
    """
    if len(segments) < MIN_SEGMENTS:
        raise InputError(
            f"{len(segments)} translations are too few to standardise their features",
            remedy=f"give {MIN_SEGMENTS} or more, the more the better; they need no labels",
        )
    with locked_folder(output, "unsupervised", inputs=experiment.inputs()):
        result = _fit(experiment, segments, output / "model", cache, progress)
        if not experiment.tracking.enabled:
            return result
        name, description = experiment.name, experiment.description
        with runs.run(experiment.run_name, description=description, tags=experiment.tracking.tags) as run:
            run.params(experiment.settings())
            run.values(result.model.about["recipe"], "recipe.json")
            data = pd.DataFrame({"source": segments.source, "target": segments.target})
            run.dataset(data, name, None, "training")
            described = logged_models.Described(name, description, requirements=requirements(result.model))
            logged_models.log_model(run, result.folder, columns=result.model.columns(), described=described)
    return result


def _fit(
    experiment: Experiment, segments: Segments, folder: Path, cache: Path, progress: Progress
) -> Unlabelled:
    needed = parts_needed(experiment.features)
    bundle = resources_for(experiment.resources, segments, needed, cache, progress)
    feature_set = FeatureSet.make(experiment.features, bundle)
    for config, extractor in zip(feature_set.configs, feature_set.extractors, strict=True):
        if isinstance(extractor, FittedExtractor) and extractor.labels_used():
            raise InputError(f"'{config['kind']}' learns from {', '.join(extractor.labels_used())}")
    fitted = (e.fit(segments, {}) if isinstance(e, FittedExtractor) else e for e in feature_set.extractors)
    feature_set = replace(feature_set, extractors=tuple(fitted))
    extraction = Extraction(feature_set, cache, progress=progress)
    static = extraction.static(segments)
    for i, extractor in extraction.fitted_families:
        names = [feature.name for feature in feature_set.kept_features(i)]
        static[names] = feature_set.keep(i, checked(extractor, segments))
    table = static[feature_set.columns]
    section = experiment.learner[0]
    candidate = Candidate(section.kind, section.params)
    parts = {} if bundle is None else {name: bundle.manifest["parts"][name] for name in needed}
    made_with = recipe(experiment.seed, segments.fingerprint, feature_set, parts)
    model = Model(
        experiment.name,
        candidate,
        candidate.pipeline(experiment.seed).fit(table),
        feature_set,
        SCALE,
        (segments.source_tokenizer, segments.target_tokenizer),
        bundle,
    ).described(recipe=made_with, versions=made_with["versions"], best=candidate.settings())
    values = numbers(table)
    pairs = zip(segments.source, segments.target, strict=True)
    profile = Profile.make(segments, values, list(table.columns), experiment.seed)
    model.save(folder, (Background.make(values, experiment.seed), profile, Learned.make(pairs)))
    return Unlabelled(model, table, folder)


DECODER: Final = ("subwords", "token_log_probabilities")
_DECODER_MEAN: Final = "decoder_mean"
_COSINE: Final = "encoder_source_centred_cosine"
_WORDS: Final = "word_quality_synthetic_word_mean"


def unlabelled_experiment(
    name: str, columns: Collection[str], parallel: tuple[Path, Path] | None, encoder: str | Path | None = None
) -> Experiment:
    """The experiment with every feature that the given columns and files allow; InputError if none.

    They are the mean log-probability of subwords if the table has the decoder's columns, the mean P(BAD) of
    words with parallel text, and the cosine of source and target, centred by language, with an encoder.
    Source: Fomicheva et al. 2020, section 4.1 (TP); this project (`synthetic_word_quality`, `encoder`).
    """
    features = list[dict[str, Any]]()
    if set(DECODER) <= set(columns):
        features.append({"kind": "decoder", "only": [_DECODER_MEAN]})
    content: dict[str, Any] = {}
    negative = []
    if parallel is not None:
        features.append({"kind": "word_quality", "knowledge": ["synthetic"], "only": [_WORDS]})
        negative.append(_WORDS)
        content["resources"] = dict(zip(("source", "target"), map(str, parallel), strict=True))
    if encoder is not None:
        model = str(Path(encoder).absolute() if is_path(encoder) else encoder)
        features.append({"kind": "encoder", "model": model, "prediction": False, "pca": 0, "only": [_COSINE]})
    if not features:
        raise InputError(
            "there is nothing to judge translations by",
            remedy="give parallel text (--parallel SOURCE TARGET), an encoder (--encoder MODEL), or "
            f"what the decoder said of its output: the columns {' and '.join(DECODER)}",
        )
    content |= {
        "name": name,
        "description": "Learned from no label: what parallel text, an encoder or the decoder says",
        "dataset": {"format": IN_MEMORY, "path": "."},
        "features": features,
        "learner": {"kind": "unsupervised_mean", "params": {"negative": negative}, "space": {}},
    }
    return from_mapping(content, Path())
