"""A sentence of another language."""

import random

from qe.data.perturbation import Perturbation, Texts

# Sentences written for this file, by language.
_SENTENCES = {
    "cs": "Vlak do hlavního města odjíždí každý den brzy ráno z druhého nástupiště.",
    "de": "Die Straße am Fluss war nach dem langen Regen noch immer gesperrt.",
    "en": "The street along the river was still closed after the long rain.",
    "es": "La calle junto al río seguía cerrada después de la larga lluvia.",
    "fi": "Joen varrella kulkeva katu oli pitkän sateen jälkeen yhä suljettu.",
    "fr": "La rue qui longe la rivière était encore fermée après la longue pluie.",
    "hu": "A folyó melletti utca a hosszú eső után még mindig le volt zárva.",
    "it": "La strada lungo il fiume era ancora chiusa dopo la lunga pioggia.",
    "nl": "De straat langs de rivier was na de lange regen nog steeds afgesloten.",
    "pl": "Ulica wzdłuż rzeki była po długim deszczu wciąż zamknięta.",
    "ru": "Улица вдоль реки после долгого дождя всё ещё была закрыта.",
    "sw": "Barabara iliyo kando ya mto bado ilikuwa imefungwa baada ya mvua ndefu.",
    "tr": "Nehir boyunca uzanan cadde uzun yağmurdan sonra hâlâ kapalıydı.",
}


class Foreign(Perturbation):
    """A sentence that is in neither of the two languages."""

    effect = "destroying"

    def target(self, texts: Texts, row: int, draw: random.Random) -> str | None:
        own = (texts.source_language, texts.target_language)
        return draw.choice([text for code, text in _SENTENCES.items() if code not in own])
