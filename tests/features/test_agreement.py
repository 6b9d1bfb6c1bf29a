"""Disagreements of the paper's footnote 2, and pairs that may not be compared."""

import numpy as np
import pytest

from features.agreement import Agreement
from tests.features.syntax import row, translations

PLURAL, SINGULAR = "Number=Plur,Person=3,VerbForm=Fin", "Number=Sing,Person=3,VerbForm=Fin"


def values(text: str) -> dict[str, float]:
    return {
        name.removeprefix("agreement_").removesuffix("_target"): value
        for name, value in row(Agreement(), translations(text)).items()
    }


def test_number_of_the_verb() -> None:
    """*Algunas de estas personas se convertirá en héroes."""
    cells = values(f"Algunas/PRON/Gender=Fem,Number=Plur/2/nsubj convertirá/VERB/{SINGULAR}/0/root")
    assert (cells["verb_any"], cells["verb_number"], cells["verb_person"]) == (1, 1, 0)
    assert cells["verb_number_share"] == 1 and np.isnan(cells["verb_person_share"])


def test_gender_of_the_participle() -> None:
    """*Barricadas fueron creados."""
    text = (
        f"Barricadas/NOUN/Gender=Fem,Number=Plur/3/nsubj fueron~ser/AUX/{PLURAL}/3/aux "
        "creados/VERB/Gender=Masc,Number=Plur,VerbForm=Part/0/root"
    )
    cells = values(text)
    assert (cells["verb_any"], cells["predicate_gender"], cells["predicate_number"]) == (0, 1, 0)
    assert cells["predicate_gender_share"] == 1 and cells["verb_person_share"] == 0


def test_a_participle_after_haber_agrees_with_nothing() -> None:
    text = (
        f"Barricadas/NOUN/Gender=Fem,Number=Plur/3/nsubj han~haber/AUX/{PLURAL}/3/aux "
        "creado/VERB/Gender=Masc,Number=Sing,VerbForm=Part/0/root"
    )
    assert values(text)["predicate_gender"] == 0 and np.isnan(values(text)["predicate_gender_share"])


def test_inside_the_phrase() -> None:
    """*Buena mentirosos."""
    cells = values("Buena/ADJ/Gender=Fem,Number=Sing/2/amod mentirosos/NOUN/Gender=Masc,Number=Plur/0/root")
    assert (cells["adjective_gender"], cells["adjective_number"], cells["phrase_any"]) == (1, 1, 1)
    cells = values("la/DET/Gender=Fem,Number=Sing/2/det estudiante/NOUN/Gender=Fem,Masc,Number=Sing/0/root")
    assert cells["phrase_any"] == 0 and cells["phrase_any_share"] == 0


COORDINATED = "Ana/PROPN/Number=Plur/{verb}/nsubj y/CCONJ/_/3/cc Eva/PROPN/_/1/conj"


@pytest.mark.parametrize("subject", ["que/PRON/PronType=Rel,Number=Plur/{verb}/nsubj", COORDINATED])
def test_subjects_whose_number_nobody_can_say(subject: str) -> None:
    place = len(subject.split()) + 1
    cells = values(f"{subject.format(verb=place)} duerme/VERB/{SINGULAR}/0/root")
    assert cells["verb_any"] == 0 and np.isnan(cells["verb_any_share"])


def test_nothing_is_known_without_morphology() -> None:
    assert np.isnan(values("la/DET/_/2/det casas/NOUN/_/0/root")["phrase_any_share"])
