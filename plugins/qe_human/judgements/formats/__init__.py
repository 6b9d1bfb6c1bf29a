"""Files of human judgements."""

NAMES = {"tables": ("pairwise_counts", "rank_table", "wmt_csv")}
