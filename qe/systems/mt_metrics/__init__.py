"""Metrics of MT output against references."""

NAMES = {
    "ngrams": ("bleu", "nist", "chrf", "length"),
    "edits": ("ter", "token_edit_rate", "character_edit_rate", "meteor"),
    "table": ("table",),
}
