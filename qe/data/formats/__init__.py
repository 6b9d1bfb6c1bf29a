"""Dataset formats; `NAMES` lists those of modules that hold several."""

NAMES = {
    "tables": ("language_pairs", "parallel_text", "table"),
    "tools": ("appraise", "label_studio"),
    "wmt": ("catastrophic_errors", "mqm", "wmt12", "wmt_qe"),
}
