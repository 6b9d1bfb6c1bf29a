"""Identity: everything the trial values depend on, in plain words and as fingerprints."""

from features.storage.files import digest
from qe.training.preparation import Prepared
from qe.training.space import Space
from qe.training.study import Identity

# What else trials learn by.
SETTINGS = ("seed", "weights", "weight_power", "auxiliary_labels", "negatives", "clip")


def identity(prepared: Prepared, space: Space) -> Identity:
    """Part -> what it is; experiments whose parts are equal may share a study."""
    experiment, training = prepared.experiment, prepared.training
    feature_set, settings = prepared.extraction.feature_set, experiment.settings()
    others = [each.fingerprint for each in prepared.auxiliaries]
    data = digest(prepared.dataset.scale, training.fingerprint, *others)
    folds = digest(settings["split"], *(held_out.tobytes() for _, held_out in prepared.folds))
    kinds = [section.kind for section in (*space.learners, *space.selectors) if section.kind != "none"]
    return {
        "data": f"{len(training)} rows of {prepared.dataset.name} ({data})",
        "label": prepared.dataset.scale.name,
        "folds": f"{len(prepared.folds)} ({folds})",
        "features": f"{len(feature_set.names)} ({feature_set.fingerprint})",
        "space": f"{', '.join(kinds)} ({_of_space(space)})",
        "metric": ", ".join(experiment.search.objective),
        "settings": ", ".join(f"{key} {settings[key]}" for key in SETTINGS),
    }


def _of_space(space: Space) -> str:
    fixed = [
        (section.kind, sorted(section.params.items())) for section in (*space.learners, *space.selectors)
    ]
    return digest(fixed, sorted(space.distributions().items()))
