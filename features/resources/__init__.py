"""Kinds of resources: build, save, load (memory-mapped), fingerprint."""

# Modules that hold no strategy, or several: module -> names.
NAMES: dict[str, tuple[str, ...]] = {
    "language_model": ("language_model", "number_lm"),
    "ngrams": ("ngrams", "quartile_ngrams"),
    "phrase_table": ("phrase_table", "back_phrase_table"),
    "phrases": (),
    "word_lexicon": ("word_lexicon", "stop_words", "kept_words"),
}
