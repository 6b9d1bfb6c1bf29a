"""Learners: one file each; the file name is the learner's name in experiments."""

# Modules that hold no strategy, or several: module -> names.
NAMES: dict[str, tuple[str, ...]] = {
    "checks": (),
    "folds": (),
    "forest": (),
    "members": (),
    "rbf": (),
}
