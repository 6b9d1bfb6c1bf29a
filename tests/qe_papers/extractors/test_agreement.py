"""Disagreements of the paper's footnote 2, and pairs that may not be compared."""

import numpy as np
import pytest

from qe_papers.extractors.grammar import Agreement
from tests.factories import row
from tests.features.parsed import translations

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


DISAGREEING = {
    # *Algunas de estas personas se convertirá en héroes.
    "number of the verb": (
        "Algunas/PRON/Gender=Fem,Number=Plur/5/nsubj de/ADP/_/4/case "
        "estas/DET/Gender=Fem,Number=Plur/4/det personas/NOUN/Gender=Fem,Number=Plur/1/nmod "
        f"convertirá/VERB/{SINGULAR}/0/root"
    ),
    # *Barricadas fueron creados en la calle Cortlandt.
    "gender of the predicate": (
        f"Barricadas/NOUN/Gender=Fem,Number=Plur/3/nsubj fueron~ser/AUX/{PLURAL}/3/aux "
        "creados/VERB/Gender=Masc,Number=Plur,VerbForm=Part/0/root"
    ),
    # *Buena mentirosos están cualificados en lectura.
    "inside the phrase": (
        "Buena/ADJ/Gender=Fem,Number=Sing/2/amod mentirosos/NOUN/Gender=Masc,Number=Plur/4/nsubj "
        f"están~estar/AUX/{PLURAL}/4/aux cualificados/VERB/Gender=Masc,Number=Plur,VerbForm=Part/0/root"
    ),
    # *La casa de los hombre arde.
    "inside a phrase of the phrase": (
        "La/DET/Gender=Fem,Number=Sing/2/det casa/NOUN/Gender=Fem,Number=Sing/6/nsubj de/ADP/_/5/case "
        f"los/DET/Gender=Masc,Number=Plur/5/det hombre/NOUN/Gender=Masc,Number=Sing/2/nmod "
        f"arde/VERB/{SINGULAR}/0/root"
    ),
    # *Ella sola y ellos misma duermen.
    "with a pronoun": (
        "Ella/PRON/Gender=Fem,Number=Sing,Person=3/6/nsubj sola/ADJ/Gender=Fem,Number=Sing/1/amod "
        "y/CCONJ/_/4/cc ellos/PRON/Gender=Masc,Number=Plur/1/conj misma/ADJ/Gender=Fem,Number=Sing/4/amod "
        f"duermen/VERB/{PLURAL}/0/root"
    ),
}


@pytest.mark.parametrize("location", DISAGREEING)
def test_a_clause_disagrees_once_wherever_its_subject_does(location: str) -> None:
    """Footnote 2 of the paper, and what its examples leave out."""
    cells = values(DISAGREEING[location])
    assert (cells["subject_any"], cells["subject_any_share"]) == (1, 1)


def test_the_share_is_of_clauses_with_an_explicit_subject_that_can_be_compared() -> None:
    """Las mujeres duermen, *el niño comen, que llueve, y dormimos: two of four clauses, one wrong."""
    text = (
        "Las/DET/Gender=Fem,Number=Plur/2/det mujeres/NOUN/Gender=Fem,Number=Plur/3/nsubj "
        f"duermen/VERB/{PLURAL}/0/root el/DET/Gender=Masc,Number=Sing/5/det "
        f"niño/NOUN/Gender=Masc,Number=Sing/6/nsubj comen/VERB/{PLURAL}/3/conj "
        f"que/PRON/PronType=Rel/8/nsubj llueve/VERB/{SINGULAR}/5/acl dormimos/VERB/{PLURAL}/3/conj"
    )
    cells = values(text)
    assert (cells["subject_any"], cells["subject_any_share"]) == (1, 0.5)


def test_what_disagrees_in_an_object_or_in_a_clause_of_the_subject_is_not_the_subject() -> None:
    """El hombre que vio *los casa come *las pan: as phrases two disagree, as a subject nothing does."""
    text = (
        "El/DET/Gender=Masc,Number=Sing/2/det hombre/NOUN/Gender=Masc,Number=Sing/7/nsubj "
        f"que/PRON/PronType=Rel/4/nsubj vio/VERB/{SINGULAR}/2/acl los/DET/Gender=Masc,Number=Plur/6/det "
        f"casa/NOUN/Gender=Fem,Number=Sing/4/obj come/VERB/{SINGULAR}/0/root "
        "las/DET/Gender=Fem,Number=Plur/9/det pan/NOUN/Gender=Masc,Number=Sing/7/obj"
    )
    cells = values(text)
    assert (cells["phrase_any"], cells["subject_any"], cells["subject_any_share"]) == (2, 0, 0)


def test_without_an_explicit_subject_there_is_no_share() -> None:
    cells = values(f"Duermen/VERB/{PLURAL}/0/root")
    assert cells["subject_any"] == 0 and np.isnan(cells["subject_any_share"])
