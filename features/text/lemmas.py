"""Base forms of words, from simplemma's dictionaries."""

from collections.abc import Collection, Iterable

import numpy as np

from features.basics.errors import InputError
from features.text.annotation import NOTHING
from features.text.scripts import without_blanks
from features.text.tokens import Tokens


def base_forms(words: Iterable[str], language: str) -> list[str]:
    """The lower-cased base form of each word; unknown words are returned unchanged. The dictionary knows the
    others.

    >>> base_forms(["convierte", "las", "horas", "xyz"], "es")
    ['convertir', 'el', 'hora', 'xyz']

    Tokens of languages without blanks are characters, which have no other forms. Raises InputError for a
    language without a dictionary.
    """
    if without_blanks(language):
        return [word.lower() for word in words]
    if language not in (known := _languages()):
        raise InputError(
            f"no base forms for the language '{language}'", remedy=f"known: {', '.join(sorted(known))}"
        )
    import simplemma

    return [str(simplemma.lemmatize(word, language)).lower() for word in words]


def _languages() -> Collection[str]:
    from simplemma.strategies.dictionaries import dictionary_factory  # a tenth of a second: for those who ask

    languages: Collection[str] = dictionary_factory.SUPPORTED_LANGUAGES
    return languages


def annotated_lemmas(words: Tokens, lemmas: Tokens, language: str) -> Tokens:
    """The lemmas of an annotation, lower-cased and without gaps, one per word. Where the annotation has none,
    the base form by simplemma; in a language that simplemma does not know, the word itself.
    """
    lemmas, lower = lemmas.lower(), words.lower()
    known = language in _languages()
    instead = base_forms(lower.types, language) if known else list(lower.types)
    index = {form: i for i, form in enumerate(dict.fromkeys([*lemmas.types, *instead]))}
    own = np.array([index[form] for form in lemmas.types], np.int32)[lemmas.ids]
    other = np.array([index[form] for form in instead], np.int32)[lower.ids]
    absent = np.array([form == NOTHING for form in lemmas.types], bool)[lemmas.ids]
    return Tokens(tuple(index), np.where(absent, other, own).astype(np.int32), words.offsets)


def base_form_tokens(tokens: Tokens, language: str) -> Tokens:
    """The same texts with every token replaced by its base form; each type is looked up once."""
    index: dict[str, int] = {}
    forms = base_forms(tokens.types, language)
    mapping = np.array([index.setdefault(form, len(index)) for form in forms], np.int32)
    return Tokens(tuple(index), mapping[tokens.ids] if len(mapping) else tokens.ids, tokens.offsets)
