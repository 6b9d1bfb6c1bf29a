"""Tags, base forms and dependencies: kernels against brute force, and a made language that can be learned."""

from itertools import pairwise, product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.text.annotation import heads, layer_tokens
from features.text.tokens import Tokens
from qe.language.conllu import read_conllu, versions
from qe_treebanks.annotator_folder import AnnotatorFolder, train
from qe_treebanks.annotators._transitions import LEFT, RIGHT, SHIFT, oracle, projective
from qe_treebanks.annotators._word_models import Lemmas, _viterbi
from tests.qe_treebanks.annotators.made import sentences, write_conllu

RANDOM = np.random.default_rng(3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tagger and parser of the made language, trained on four sentences of five."""
    root = tmp_path_factory.mktemp("annotators")
    treebank = write_conllu(root / "train.conllu", held_out=True)
    train("pos", [treebank], "es", root / "es", {"epochs": 3})
    train("dependencies", [treebank], "es", root / "es", {"epochs": 3})
    return root / "es"


@pytest.mark.slow
def test_viterbi_is_the_best_of_all_sequences() -> None:
    for n, size in product((1, 2, 4), (1, 3)):
        scores = RANDOM.normal(size=(n, size)).astype(np.float32)
        moves = RANDOM.normal(size=(size + 1, size)).astype(np.float32)
        moves[0, size - 1] = -np.inf if size > 1 else moves[0, 0]
        total = {
            path: moves[size, path[0]]
            + sum(scores[i, label] for i, label in enumerate(path))
            + sum(moves[a, b] for a, b in pairwise(path))
            for path in product(range(size), repeat=n)
        }
        best = np.empty(n, np.int32)
        _viterbi(scores.copy(), moves, np.empty((n, size), np.int32), best)
        assert tuple(best.tolist()) == max(total, key=lambda path: total[path])


def random_projective(n: int) -> list[int]:
    """A random tree without crossing arcs over words 0 .. n - 1; -1: root."""
    result = [-1] * n

    def attach(low: int, high: int, head: int) -> None:
        if low < high:
            word = int(RANDOM.integers(low, high))
            result[word] = head
            attach(low, word, word)
            attach(word + 1, high, word)

    attach(0, n, -1)
    return result


@pytest.mark.slow
def test_the_oracle_rebuilds_every_projective_tree() -> None:
    """Replayed by arc-standard as the textbook has it: a stack, a buffer, arcs."""
    for _ in range(200):
        gold = random_projective(int(RANDOM.integers(1, 9)))
        stack: list[int] = []
        buffer, reached = list(range(len(gold))), [-1] * len(gold)
        for action in oracle(np.array(gold, np.int32)).tolist():
            if action == SHIFT:
                stack.append(buffer.pop(0))
            elif action == LEFT:
                reached[stack.pop(-2)] = stack[-1]
            elif action == RIGHT:
                reached[stack[-1]] = stack[-2]
                stack.pop()
        assert reached == gold and len(stack) == 1 and not buffer
        assert projective(gold) == gold


@pytest.mark.slow
def test_a_made_language_is_learned(folder: Path, tmp_path: Path) -> None:
    gold = write_conllu(tmp_path / "all.conllu")
    annotators = AnnotatorFolder(folder)
    assert annotators.tasks == ("pos", "dependencies")
    tags, arcs = annotators.evaluate("pos", [gold]), annotators.evaluate("dependencies", [gold])
    assert tags["words"]["upos"] == tags["words"]["feats"] == tags["words"]["lemma"] == 1
    assert arcs["words"]["las"] > 0.98 and arcs["tokens"]["las"] > 0.98
    assert arcs["words"]["n"] > arcs["tokens"]["n"]  # `del` is one token and two words


@pytest.mark.slow
def test_blocks_are_read_back_by_the_layers(folder: Path) -> None:
    texts = [
        ["la", "luna", "busca", "el", "gato", "."],
        [],
        ["Ana", "mira", "la", "casa", "del", "niño", "."],
    ]
    blocks = list(AnnotatorFolder(folder).annotate(texts))
    tokens = Tokens.from_lists(texts)
    assert layer_tokens(blocks, tokens, "upos", "x").words(2) == [
        "PROPN", "VERB", "DET", "NOUN", "ADP", "NOUN", "PUNCT"
    ]  # fmt: skip
    assert heads(blocks, tokens, "x").tolist()[:6] == [1, 2, -1, 4, 2, 2]
    assert layer_tokens(blocks, tokens, "deprel", "x").words(2)[4:6] == ["case", "nmod"]
    again = [next(AnnotatorFolder(folder).annotate([text])) for text in texts]
    assert again == blocks  # alike alone and in a batch


def test_contractions_are_learned_apart_and_joined(tmp_path: Path) -> None:
    treebank = read_conllu([write_conllu(tmp_path / "t")])
    forms = [[row[1] for row in rows] for rows in versions(treebank)]
    assert len(forms) == len(sentences()) + 96
    assert ["Ana", "mira", "el", "gato", "del", "niño", "."] in forms


def test_base_forms_of_words_not_seen_follow_their_endings() -> None:
    seen = [("casas", "NOUN", "Number=Plur", "casa"), ("mesas", "NOUN", "Number=Plur", "mesa"),
            ("miró", "VERB", "_", "mirar"), ("pintó", "VERB", "_", "pintar"), ("Ana", "PROPN", "_", "Ana"),
            ("Eva", "PROPN", "_", "Eva")]  # fmt: skip
    lemmas = Lemmas.learned(seen)
    assert lemmas.lemma("Casas", "NOUN", "Number=Plur") == "casa"
    assert lemmas.lemma("sillas", "NOUN", "Number=Plur") == "silla"
    assert lemmas.lemma("cantó", "VERB", "_") == "cantar"
    assert lemmas.lemma("Olga", "PROPN", "_") == "Olga"
    assert Lemmas.from_json(lemmas.as_json()).lemma("sillas", "NOUN", "Number=Plur") == "silla"


def test_real_text_is_tagged(shared_data, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """1,500 sentences of AnCora train, 100 others test: more than nine words of ten right."""
    outcome = read_conllu([shared_data("treebanks/es_ancora-train.conllu.gz")])
    for name, some in (("train", outcome[:1500]), ("gold", outcome[3000:3100])):
        text = "".join("\n".join("\t".join(row) for row in s.rows) + "\n\n" for s in some)
        (tmp_path / name).write_text(text, "utf-8")
    train("pos", [tmp_path / "train"], "es", tmp_path / "es", {"epochs": 3})
    assert AnnotatorFolder(tmp_path / "es").evaluate("pos", [tmp_path / "gold"])["words"]["upos"] > 0.93


@pytest.mark.slow
@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_arcs_that_cross_are_lifted_until_none_does(draw: Random, n: int) -> None:
    """Against the definition: the shortest arc whose head is not above all that lies between its ends."""
    order, heads = draw.sample(range(n), n), [-1] * n
    for k in range(1, n):
        heads[order[k]] = order[draw.randrange(k)]
    assert projective(heads) == lifted(heads)


def lifted(heads: list[int]) -> list[int]:
    result = list(heads)

    def above(upper: int, lower: int) -> bool:
        return lower == upper or (lower >= 0 and above(upper, result[lower]))

    def covers(word: int) -> bool:
        head = result[word]
        return all(above(head, inner) for inner in range(min(word, head) + 1, max(word, head)))

    while crossing := [word for word in range(len(result)) if result[word] >= 0 and not covers(word)]:
        word = min(crossing, key=lambda w: abs(w - result[w]))
        result[word] = result[result[word]]
    return result
