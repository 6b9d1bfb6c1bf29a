"""Topics of features in words of translators, for explanations."""

from features.core.extractor import Feature

VALUE = "{}"  # where a phrase has the value of its feature
TEXTS = {"source": "source", "target": "translation"}  # how translators call the two texts


def phrase(feature: Feature, family: str) -> str:
    """The topic of a feature: its own phrase, else its family's, else its description with the value.

    family  `Extractor.plain`: `{text}` becomes the text that the feature's name has

    >>> lm = Feature("lm_target_log10", "log10 probability", "", "log10")
    >>> phrase(lm, "how usual the wording of the {text} is")
    'how usual the wording of the translation is'
    """
    return feature.plain or (in_words(feature.name, family) if family else f"{feature.description} {VALUE}")


def in_words(name: str, family: str) -> str:
    """The family's phrase for the text that the name mentions. It is about the segment if the name mentions
    both texts, or neither.
    """
    texts = [text for side, text in TEXTS.items() if side in name]
    return family.replace("{text}", texts[0] if len(texts) == 1 else "segment")
