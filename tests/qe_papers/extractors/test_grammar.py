"""Grammar of the translation: agreement, dangling determiners, subjects, rules of neighbouring words."""

from dataclasses import replace

import numpy as np
import pytest

from qe_papers.extractors.grammar import Agreement, DanglingDeterminers, Subjects
from qe_papers.extractors.grammar_checks import RULES, GrammarChecks
from tests.factories import EN_ES, ENGLISH, row, segments, table
from tests.features.parsed import block, parsed, translations

NAN = float("nan")
PLURAL, SINGULAR = "Number=Plur,Person=3,VerbForm=Fin", "Number=Sing,Person=3,VerbForm=Fin"


def values(text: str) -> dict[str, float]:
    return {
        name.removeprefix("agreement_").removesuffix("_target"): value
        for name, value in row(Agreement(), translations(text)).items()
    }


CLAUSES: dict[str, tuple[str, dict[str, float]]] = {
    "a verb: *Algunas de estas personas se convertirá en héroes": (
        "Algunas/PRON/Gender=Fem,Number=Plur/5/nsubj de/ADP/_/4/case "
        "estas/DET/Gender=Fem,Number=Plur/4/det personas/NOUN/Gender=Fem,Number=Plur/1/nmod "
        f"convertirá/VERB/{SINGULAR}/0/root",
        {"verb_any": 1, "verb_number": 1, "verb_person": 0, "verb_number_share": 1, "verb_person_share": NAN,
         "subject_any": 1, "subject_any_share": 1},
    ),
    "a participle: *Barricadas fueron creados": (
        f"Barricadas/NOUN/Gender=Fem,Number=Plur/3/nsubj fueron~ser/AUX/{PLURAL}/3/aux "
        "creados/VERB/Gender=Masc,Number=Plur,VerbForm=Part/0/root",
        {"verb_any": 0, "predicate_gender": 1, "predicate_number": 0, "predicate_gender_share": 1,
         "verb_person_share": 0, "subject_any": 1, "subject_any_share": 1},
    ),
    "after haber it agrees with nothing": (
        f"Barricadas/NOUN/Gender=Fem,Number=Plur/3/nsubj han~haber/AUX/{PLURAL}/3/aux "
        "creado/VERB/Gender=Masc,Number=Sing,VerbForm=Part/0/root",
        {"predicate_gender": 0, "predicate_gender_share": NAN},
    ),
    "an adjective: *Buena mentirosos están cualificados": (
        "Buena/ADJ/Gender=Fem,Number=Sing/2/amod mentirosos/NOUN/Gender=Masc,Number=Plur/4/nsubj "
        f"están~estar/AUX/{PLURAL}/4/aux cualificados/VERB/Gender=Masc,Number=Plur,VerbForm=Part/0/root",
        {"adjective_gender": 1, "adjective_number": 1, "phrase_any": 1, "subject_any": 1,
         "subject_any_share": 1},
    ),
    "a noun of either gender": (
        "la/DET/Gender=Fem,Number=Sing/2/det estudiante/NOUN/Gender=Fem,Masc,Number=Sing/0/root",
        {"phrase_any": 0, "phrase_any_share": 0},
    ),
    "a phrase of the phrase: *La casa de los hombre arde": (
        "La/DET/Gender=Fem,Number=Sing/2/det casa/NOUN/Gender=Fem,Number=Sing/6/nsubj de/ADP/_/5/case "
        f"los/DET/Gender=Masc,Number=Plur/5/det hombre/NOUN/Gender=Masc,Number=Sing/2/nmod "
        f"arde/VERB/{SINGULAR}/0/root",
        {"subject_any": 1, "subject_any_share": 1},
    ),
    "a pronoun: *Ella sola y ellos misma duermen": (
        "Ella/PRON/Gender=Fem,Number=Sing,Person=3/6/nsubj sola/ADJ/Gender=Fem,Number=Sing/1/amod "
        "y/CCONJ/_/4/cc ellos/PRON/Gender=Masc,Number=Plur/1/conj misma/ADJ/Gender=Fem,Number=Sing/4/amod "
        f"duermen/VERB/{PLURAL}/0/root",
        {"subject_any": 1, "subject_any_share": 1},
    ),
    "relative pronouns have any number": (
        f"que/PRON/PronType=Rel,Number=Plur/2/nsubj duerme/VERB/{SINGULAR}/0/root",
        {"verb_any": 0, "verb_any_share": NAN},
    ),
    "coordination, too": (
        f"Ana/PROPN/Number=Plur/4/nsubj y/CCONJ/_/3/cc Eva/PROPN/_/1/conj duerme/VERB/{SINGULAR}/0/root",
        {"verb_any": 0, "verb_any_share": NAN},
    ),
    "no morphology": ("la/DET/_/2/det casas/NOUN/_/0/root", {"phrase_any_share": NAN}),
    "no explicit subject": (
        f"Duermen/VERB/{PLURAL}/0/root", {"subject_any": 0, "subject_any_share": NAN}
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CLAUSES.values(), ids=CLAUSES)
def test_clauses(text: str, expected: dict[str, float]) -> None:
    """Footnote 2 of the paper, and what its examples leave out."""
    cells = values(text)
    assert {name: cells[name] for name in expected} == pytest.approx(expected, nan_ok=True)


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


def dangling(text: str) -> tuple[float, float]:
    values = row(DanglingDeterminers(), translations(text))
    return values["determiners_dangling_target"], values["determiners_dangling_share_target"]


def test_by_hand() -> None:
    text = "la/DET/_/2/det casa/NOUN/_/4/nsubj el/DET/_/4/det duerme/VERB/VerbForm=Fin/0/root"
    assert dangling(text) == (1, 0.5)
    assert dangling("el/DET/_/2/det hacer/VERB/VerbForm=Inf/0/root") == (0, 0)
    assert dangling("el/DET/_/0/root") == (1, 1)
    count, share = dangling("duerme/VERB/VerbForm=Fin/0/root")
    assert count == 0 and np.isnan(share)


FIN = "VerbForm=Fin,Mood=Ind"


def counts(text: str) -> tuple[float, ...]:
    values = row(Subjects(), translations(text))
    return tuple(values[f"subjects_{kind}_target"] for kind in ("pronominal", "other", "dropped"))


def test_kinds() -> None:
    assert counts(f"Ella/PRON/PronType=Prs/2/nsubj pensó/VERB/{FIN}/0/root") == (1, 0, 0)
    assert counts(f"niña/NOUN/_/2/nsubj duerme/VERB/{FIN}/0/root") == (0, 1, 0)
    assert counts(f"duerme/VERB/{FIN}/0/root") == (0, 0, 1)
    assert counts(f"que/PRON/PronType=Rel/2/nsubj duerme/VERB/{FIN}/0/root") == (0, 1, 0)
    assert counts("ven/VERB/VerbForm=Fin,Mood=Imp/0/root") == (0, 0, 0)


def test_the_finite_verb_may_be_an_auxiliary() -> None:
    text = (
        f"niña/NOUN/_/3/nsubj ha/AUX/{FIN}/3/aux querido/VERB/VerbForm=Part/0/root "
        "dormir/VERB/VerbForm=Inf/3/xcomp"
    )
    assert counts(text) == (0, 1, 0)


def test_shares() -> None:
    text = f"él/PRON/PronType=Prs/2/nsubj duerme/VERB/{FIN}/0/root come/VERB/{FIN}/2/conj"
    values = row(Subjects(), translations(text))
    assert (values["subjects_pronominal_share_target"], values["subjects_dropped_share_target"]) == (0.5, 0.5)
    assert np.isnan(row(Subjects(), translations("casa/NOUN/_/0/root"))["subjects_other_share_target"])


def before(tree: str) -> tuple[float, ...]:
    text = segments("x", "y", EN_ES, annotation_target=block("y/X", [f"constituency = {tree}"]))
    values = row(Subjects(parser="constituents"), text)
    return tuple(values[f"subjects_{kind}_target"] for kind in ("pronominal", "other", "dropped"))


def test_what_stands_before_verb_phrases() -> None:
    """The paper's three cases: PRON+VP, NON-PRON-NP+VP, no phrase before the VP; the nearest one counts."""
    ella, piensa = "(sn (pp3fs000 Ella))", "(grup.verb (v x))"
    nina = "(sn.e-SUJ (da0fs0 la) (grup.nom (ncfs000 niña)))"
    assert before(f"(S {ella} {piensa})") == (1, 0, 0)
    assert before(f"(S {nina} (sadv (rg ya)) {piensa})") == (0, 1, 0)
    assert before(f"(S {piensa} {nina})") == (0, 0, 1)
    assert before(f"(S {nina} {ella} {piensa} (S {piensa}))") == (1, 0, 1)
    nested = "(S (NP (PRP she)) (VP (MD may) (VP (VB come))))"
    assert before(nested) == (1, 0, 0)
    assert before(f"(S {nina} (infinitiu (vmn0000 venir)))") == (0, 0, 0)


MASC, FEM = "Gender=Masc,Number=Sing", "Gender=Fem,Number=Sing"
MASCS, FEMS = "Gender=Masc,Number=Plur", "Gender=Fem,Number=Plur"
VERB = "VerbForm=Fin,Number={}"

# Rule -> (what it finds, what it leaves alone).
CASES = {
    "det_nom_sing": (f"la/DET/{FEM} casas/NOUN/{FEMS}", f"la/DET/{FEM} casa/NOUN/{FEM}"),
    "det_nom_plur": (f"las/DET/{FEMS} casa/NOUN/{FEM}", f"las/DET/{FEMS} casas/NOUN/{FEMS}"),
    "det_nom_masc": (f"el/DET/{MASC} casa/NOUN/{FEM}", f"el/DET/{MASC} agua/NOUN/{FEM}"),
    "det_nom_fem": (f"la/DET/{FEM} perro/NOUN/{MASC}", f"la/DET/{FEM} casa/NOUN/{FEM}"),
    "nom_adj_sing": (f"líder/NOUN/{MASC} políticos/ADJ/{MASCS}", f"líder/NOUN/{MASC} político/ADJ/{MASC}"),
    "nom_adj_plur": (f"leyes/NOUN/{FEMS} político/ADJ/{FEM}", f"leyes/NOUN/{FEMS} sabias/ADJ/{FEMS}"),
    "nom_adj_masc": (f"perro/NOUN/{MASC} roja/ADJ/{FEM}", f"perro/NOUN/{MASC} feliz/ADJ/Number=Sing"),
    "nom_adj_fem": (f"casa/NOUN/{FEM} rojo/ADJ/{MASC}", f"casa/NOUN/{FEM} roja/ADJ/{FEM}"),
    "del_nom_sing": (f"del/ADP perros/NOUN/{MASCS}", f"del/ADP perro/NOUN/{MASC}"),
    "del_nom_masc": (f"del/ADP casa/NOUN/{FEM}", f"del/ADP agua/NOUN/{FEM}"),
    "pp_v_sing": (
        f"ella/PRON/PronType=Prs,Number=Sing van/VERB/{VERB.format('Plur')}",
        f"la/PRON/PronType=Prs,Number=Sing,Case=Acc van/VERB/{VERB.format('Plur')}",
    ),
    "pp_v_plur": (
        f"ellas/PRON/PronType=Prs,Number=Plur va/VERB/{VERB.format('Sing')}",
        f"ellas/PRON/PronType=Prs,Number=Plur van/VERB/{VERB.format('Plur')}",
    ),
    "preposition_verb": ("de/ADP dijo/VERB/VerbForm=Fin", "de/ADP decir/VERB/VerbForm=Inf"),
    "y_e": ("articular/VERB y/CCONJ ideológicamente/ADV", "fuego/NOUN y/CCONJ hielo/NOUN"),
    "o_u": ("siete/NUM o/CCONJ ocho/NUM", "siete/NUM o/CCONJ nueve/NUM"),
    "word_repeat": ("la/DET la/DET casa/NOUN", "la/DET casa/NOUN , la/DET playa/NOUN"),
    "double_punct": ("sí/INTJ ,/PUNCT ,/PUNCT no/INTJ", "¿/PUNCT ¡/PUNCT no/INTJ !/PUNCT ?/PUNCT"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_finds_its_mistake_alone(name: str) -> None:
    wrong, right = (text.replace(" , ", " ,/PUNCT ") for text in CASES[name])
    found = table(GrammarChecks(), translations(wrong, right))
    assert found[f"check_{name}"].tolist() == [1, 0]


def test_every_rule_has_a_case() -> None:
    assert {rule.name for rule in RULES} == {*CASES, "a_an"}


def test_the_papers_example() -> None:
    """Table 1: *La articular y ideológicamente convencido de asesino de masas."""
    text = "La/DET articular/VERB y/CCONJ ideológicamente/ADV convencido/ADJ de/ADP asesino/NOUN"
    values = row(GrammarChecks(), translations(text))
    assert values["check_all"] == values["check_y_e"] == 1
    assert values["check_characters"] == len("yideológicamente")


def test_english_has_its_own_rules() -> None:
    text = "a/DET hour/NOUN y/X is/AUX is/AUX"
    values = row(GrammarChecks(), replace(translations(text), target_tokenizer=ENGLISH))
    assert (values["check_a_an"], values["check_word_repeat"], values["check_y_e"]) == (1, 1, 0)


def test_both_sides_and_characters_of_every_rule() -> None:
    source, target = "a/DET hour/NOUN that/PRON is/AUX is/AUX", "la/DET/Number=Sing casas/NOUN/Number=Plur"
    values = row(GrammarChecks("both", characters=True), parsed(source, target))
    assert values["check_a_an_source"] == values["check_word_repeat_source"] == 1
    assert values["check_a_an"] == 0
    assert values["check_det_nom_sing"] == 1 and values["check_det_nom_sing_source"] == 0
    assert values["check_a_an_characters_source"] == len("ahour")
    assert values["check_word_repeat_characters_source"] == len("isis")
    assert values["check_det_nom_sing_characters"] == values["check_characters"] == len("lacasas")


def test_spaces_before_commas_and_inside_brackets() -> None:
    """Three places: `dijo ,`, `( sí`, `no )`; the brackets of `(ayer)` are right."""
    text = "dijo/VERB ,/PUNCT (/PUNCT sí/INTJ no/INTJ )/PUNCT (ayer),/ADV hoy/ADV"
    values = row(GrammarChecks(characters=True), translations(text))
    assert values["check_comma_parenthesis_space"] == 3 and values["check_all"] == 0
    assert values["check_comma_parenthesis_space_characters"] == len(" ,") + len("( ") + len(" )")
