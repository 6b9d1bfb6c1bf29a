"""Metrics of QE predictions."""

NAMES = {
    "errors": ("mae", "rmse", "large_error", "small_error", "accuracy", "binary_accuracy"),
    "classes": ("mcc", "f1", "auc"),
    "ranking": ("delta_avg", "spearman", "pearson", "kendall", "ranking_accuracy"),
}
