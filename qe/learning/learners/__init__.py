"""Learners: scikit-learn estimators with their search spaces."""

# Modules without a learner, or with several: module -> names.
NAMES: dict[str, tuple[str, ...]] = {
    "checks": (),
    "linear": ("ridge", "lasso", "elastic_net", "polynomial", "logistic", "mean"),
    "similarity": ("k_neighbours", "kernel_ridge", "svr_linear", "svr_poly", "svr_rbf"),
    "trees": ("random_forest", "extra_trees"),
    "ensembles": ("averaging", "seed_averaging", "tuned"),
}
