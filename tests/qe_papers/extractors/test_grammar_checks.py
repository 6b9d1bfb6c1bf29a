"""Rules of neighbouring words: each finds its mistake, and nothing in what is right."""

import pytest

from features import Segments, Tokenizer
from features.basics.errors import InputError
from qe_papers.extractors.grammar_checks import RULES, GrammarChecks
from tests.factories import SPANISH, row
from tests.features.parsed import block, forms, translations

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
    segments = translations(wrong, right)
    assert row(GrammarChecks(), segments, 0)[f"check_{name}"] == 1
    assert row(GrammarChecks(), segments, 1)[f"check_{name}"] == 0


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
    columns = {"source": ["x"], "target": [forms(text)], "annotation_target": [block(text)]}
    values = row(GrammarChecks(), Segments.from_columns(columns, SPANISH, Tokenizer("en", "whitespace")))
    assert (values["check_a_an"], values["check_word_repeat"], values["check_y_e"]) == (1, 1, 0)


def test_a_language_without_rules_is_one_message() -> None:
    columns = {"source": ["x"], "target": ["y"], "annotation_target": [block("y/X")]}
    with pytest.raises(InputError, match="no rules of grammar for the language 'de'; known: en, es"):
        GrammarChecks().extract(Segments.from_columns(columns, SPANISH, Tokenizer("de")))


def test_both_sides_and_characters_of_every_rule() -> None:
    source, target = "a/DET hour/NOUN that/PRON is/AUX is/AUX", "la/DET/Number=Sing casas/NOUN/Number=Plur"
    columns = {"source": [forms(source)], "target": [forms(target)],
               "annotation_source": [block(source)], "annotation_target": [block(target)]}  # fmt: skip
    segments = Segments.from_columns(columns, Tokenizer("en", "whitespace"), SPANISH)
    values = row(GrammarChecks("both", characters=True), segments)
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
