"""Metrics of QE predictions."""

NAMES = {
    "errors": ("mae", "rmse", "large_error", "small_error", "accuracy", "binary_accuracy"),
    "classes": ("mcc", "f1", "auc"),
    "ranks": ("spearman", "ranking_accuracy"),
}
