"""Feature selectors."""

NAMES: dict[str, tuple[str, ...]] = {
    "paths": (),
    "columns": ("none", "correlation", "family", "groups", "pca"),
    "greedy": ("forward", "backward_elimination", "cost_aware"),
}
