"""Correlations of metrics with human judgements."""

NAMES = {
    "systems": (
        *("pearson", "spearman", "system_pearson", "system_spearman", "pairwise_accuracy"),
        "soft_pairwise_accuracy",
    ),
    "pairs": ("kendall_wmt12", "acc_eq"),
}
