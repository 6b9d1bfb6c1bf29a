"""Correlations of metrics with human judgements."""

NAMES = {
    "systems": ("system_pearson", "system_spearman", "pairwise_accuracy", "soft_pairwise_accuracy"),
    "moments": ("pearson", "spearman"),
    "pairs": ("kendall_wmt12", "acc_eq"),
}
