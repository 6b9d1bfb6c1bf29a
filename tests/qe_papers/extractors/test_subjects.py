"""Subjects of Spanish clauses, by hand; footnote 1 of the paper has the first."""

import numpy as np

from features.core.segments import Segments
from qe_papers.extractors.grammar import Subjects
from tests.factories import ENGLISH, SPANISH, row
from tests.features.parsed import block, translations

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
    columns = {
        "source": ["x"],
        "target": ["y"],
        "annotation_target": [f"# constituency = {tree}\n" + block("y/X")],
    }
    values = row(Subjects(parser="constituents"), Segments.from_columns(columns, ENGLISH, SPANISH))
    return tuple(values[f"subjects_{kind}_target"] for kind in ("pronominal", "other", "dropped"))


def test_what_stands_before_verb_phrases() -> None:
    """The paper's three cases: PRON+VP, NON-PRON-NP+VP, no phrase before the VP; the nearest one counts."""
    ella, nina, piensa = (
        "(sn (pp3fs000 Ella))",
        "(sn.e-SUJ (da0fs0 la) (grup.nom (ncfs000 niña)))",
        "(grup.verb (v x))",
    )
    assert before(f"(S {ella} {piensa})") == (1, 0, 0)
    assert before(f"(S {nina} (sadv (rg ya)) {piensa})") == (0, 1, 0)
    assert before(f"(S {piensa} {nina})") == (0, 0, 1)
    assert before(f"(S {nina} {ella} {piensa} (S {piensa}))") == (1, 0, 1)
    assert before("(S (NP (PRP she)) (VP (MD may) (VP (VB come))))") == (
        1,
        0,
        0,
    )  # one phrase lies in the other
    assert before(f"(S {nina} (infinitiu (vmn0000 venir)))") == (0, 0, 0)
