"""Perturbations of translations; `NAMES` lists those of each module."""

_CHANGES = """
    copy_of_source digits_only emoji_only foreign half_dropped html_tags marks_appended mojibake
    name_replaced negation_dropped number_changed one_word_repeated other_segment punctuation_only
    shuffled space_before_stop swapped tail_repeated third_replaced three_times trailing_blank
    typographic_quotes unicode_nfd upper_case
"""
NAMES = {"changes": tuple(_CHANGES.split())}
