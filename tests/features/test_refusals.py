"""What families, trees, tokenizers and models of words refuse, a row each: the place with words of the rule,
and the call. Parts, bundles, files, encoders and options have a table of their own beside their tests."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.core.feature_set import make_extractor, parts_needed
from features.phrase_table import PhraseTableFeatures
from features.precomputed import Precomputed
from features.resources.annotation import Annotation
from features.resources.phrase_table import PhraseTable
from features.storage.damage import Damaged
from features.syntax.trees import Trees
from features.text.links import Links
from features.word_level.columns import same_width
from features.word_level.labels import PROBABILITIES, source_tag_labels, tag_labels, tag_probabilities
from features.word_level.pooling import PoolingNetwork, random_beginning
from features.word_level.training_text import load_used
from features.word_level.trees import TreeWalks, load_trees
from qe_papers.moses import nbest_column
from tests.factories import EN_ES, ENGLISH, Monkeypatch, corpus, decoded, refuses, segments, tokens
from tests.features.parsed import entity_block
from tests.features.syntax.test_trees import conllu
from tests.features.test_decoder import values, with_steps
from tests.features.test_nbest import features
from tests.features.test_phrase_table import CORPUS, HOUSE, LEMMAS, TARGET, extractor, of_entities, table_of
from tests.features.word_level.test_model import trained

ONE, LINK = corpus([("a", "x")]), Links.from_pharaoh(["0-0"])
TWO = tokens("a", "b")
WITHOUT_TAG = "1\tx" + "\t_" * 8


def entities(block: str) -> Any:
    return partial(Annotation.from_blocks, CORPUS, "target", [block], {}, holds="entities")


def columns(**settings: Any) -> Any:
    return partial(make_extractor, {"kind": "columns", **settings}, None)


def knowledge(*listed: Any) -> Any:
    return partial(parts_needed, [{"kind": "word_quality", "knowledge": list(listed)}])


def precomputed(content: str, identifier: str = "train-1", names: str = "xy") -> None:
    path = Path("train.tsv")
    path.write_text(content)
    Precomputed({"train": path}, list(names)).extract(segments(id=identifier))


def nbest(line: str) -> None:
    Path("nbest").write_text(line + "\n")
    nbest_column(Path("nbest"), 2)


def comet(text: str) -> None:
    columns(names=["comet"])().extract(segments(comet=("1", text)))


def trees(labels: list[int], arities: list[int], offsets: list[int], types: tuple[str, ...] = ("a",)) -> None:
    Trees(types, np.array(labels, np.int32), np.array(arities, np.int32), np.array(offsets, np.int64))


def changed_trees(old: str, new: str, read: Any) -> None:
    text = trained(0, 0.2, rounds=2)
    changed = re.sub(old, new, text, count=1)
    assert changed != text
    read(changed)


def used(content: Any) -> None:
    Path("used.json").write_text(json.dumps(content))
    load_used(Path())


def overflowing() -> None:
    parameters = random_beginning(np.random.default_rng(0), 3, 2)
    PoolingNetwork(parameters).check_arrays()
    parameters["text"][0, 0] = 1e30
    PoolingNetwork(parameters).check_arrays()


WALKED_OTHERWISE = [
    ("objective=binary sigmoid:1", "objective=regression", "objective is not"),
    ("is_linear=0", "is_linear=1", "linear leaves"),
    (r"decision_type=\d+", "decision_type=4", "zeros for missing"),
]
STEPS = partial(values, steps=["entropy", "highest"])
REFUSED = [
    # phrase tables
    ("to 255 words .*longest=256", partial(table_of, HOUSE, longest=256)),
    ("the link 0-5 points outside", partial(table_of, [("a b", "x y", "0-5")])),
    ("links of 1 sentence pairs, but found 2",
     lambda: PhraseTable.from_links(ONE, Links.from_pharaoh(["0-0", "0-0"]))),
    ("`options` are of words, but units are `stem`",
     lambda: PhraseTableFeatures(PhraseTable.from_links(ONE, LINK, units="stem"), "stem", options=True)),
    pytest.param("units are `stem`, but the phrases .* `lemma`",
     lambda: PhraseTableFeatures(PhraseTable.from_links(*LEMMAS, minimum=1, units="lemma"), "stem"),
     marks=pytest.mark.slow),
    ("no base forms for the language 'ko'",
     lambda: extractor("lemma", *LEMMAS).extract(Segments(("red",), ("x",), ENGLISH, Tokenizer("ko")))),
    ("block 1 has no entity tags", entities("\n".join(f"{k}\tx" + "\t_" * 8 for k in range(1, 5)))),
    ("some words have no entity tag", entities(entity_block(TARGET).replace("NER=O", "_"))),
    ("^annotation_source, segment 1: .*no entity tag", lambda: of_entities().extract(
        segments(tokenizers=EN_ES, annotation_source=WITHOUT_TAG, annotation_target=WITHOUT_TAG))),
    # columns of the table, files of other programs
    *((f"segment '2': the column 'comet' .*'{text}'", partial(comet, text))
      for text in ("abc", "nan", "inf", "1_0", "1e999", "٣")),
    ("`columns` names no column", columns()),
    ("names the column 'a' twice", columns(names=["a"], categories=["a"])),
    ("unknown optional column 'b'", columns(names=["a"], optional=["b"])),
    ("unknown category 'b'", columns(categories=["a"], values={"b": ["c"]})),
    ("'names' must be a list", columns(names="a")),
    ("source has 2 and comet 1",
     partial(Segments.from_columns, {"source": "ab", "target": "ab", "comet": ["1"]})),
    (r"^train\.tsv:2: expected 2 values .*got 3", partial(precomputed, "1\t2\n1\t2\t3\n")),
    (r"^train\.tsv:1: expected 2 values .*got 1", partial(precomputed, "1\t\n")),
    (r"^train\.tsv:1: 'x' is not a number", partial(precomputed, "1\tx\n")),
    (r"^train\.tsv:2: 'inf' is not finite", partial(precomputed, "1\t2\n1\tinf\n")),
    (r"^train\.tsv:2: expected 2 values .*got 1", partial(precomputed, "1\t2\n\n")),
    *((f"the segment '{identifier}'; ids must be", partial(precomputed, "1\n", identifier, "x"))
      for identifier in ("dev-1", "1", "train-0", "train-01", "train", "xtrain-1")),
    ("^nbest:1: expected at least 4 fields", partial(nbest, "0 ||| a ||| lm: -1")),
    ("^nbest:1: segment 7 is beyond the 2", partial(nbest, "7 ||| a ||| lm: -1 ||| -1")),
    ("^nbest:1: .*whole number, found 'x'", partial(nbest, "x ||| a ||| lm: -1 ||| -1")),
    ("^nbest:1: .*a number, found 'good'", partial(nbest, "0 ||| a ||| lm: -1 ||| good")),
    *((f"^segment '1', nbest: .*{problem}", partial(features, (entry,))) for entry, problem in (
        ("{", "not JSON"),
        ('{"text": "a"}', "a list of hypotheses, found dict"),
        ("[3]", "an object with `text`, found 3"),
        ('[{"text": "a", "scor": 1}]', r"unknown keys \['scor'\]"),
        ('[{"text": "a", "score": NaN}]', "scores must be finite"),
        ('[{"text": "a", "phrases": [[0, 1]]}]', "a phrase is"),
    )),
    # what the decoder tells
    ("segment '1': a log-probability is higher", lambda: STEPS(with_steps("-3 -2 -1", "-0.5"))),
    ("expected 3 highest log-probabilities .* found 2", lambda: STEPS(with_steps("-0.5 -2", "-0.5"))),
    ("no column 'token_entropies'", lambda: STEPS(decoded(("a", "-1 -2")))),
    *((location, partial(values, decoded((subwords, numbers)))) for subwords, numbers, location in (
        ("a b", "-1 -1", "segment '1': expected 3 log-probabilities .* found 2"),
        ("a b", "", "segment '1': expected 3 log-probabilities .* found 0"),
        ("a", "-1 x", "^token_log_probabilities: could not convert .*'x'"),
        ("a", "-inf -1", "segment '1': .*-inf"),
    )),
    # trees
    *((f"^annotation_source, segment 2.*{problem}",
       partial(Trees.from_brackets, ["(A b)", text], "annotation_source")) for text, problem in (
        ("(S (N x)", "1 brackets are not closed"),
        ("(S (N x)))", "closes a bracket that was not opened"),
        ("no tree", "has 'no' outside"),
        ("(S (N x)) word", "has 'word' outside"),
    )),
    *((f"^annotation_source, segment 1.*{problem}",
       partial(Trees.from_dependencies, [block], "annotation_source")) for block, problem in (
        (conllu(("a", "X", 2, "r"), ("b", "Y", 1, "r")), "2 of 2 words .* circle"),
        (conllu(("a", "X", 0, "r"), ("b", "Y", 3, "r"), ("c", "Y", 2, "r")), "2 of 3 words .* circle"),
        (conllu(("a", "X", 1, "r")), "1 of 1 words .* circle"),
        (conllu(("a", "X", 2, "r")), "the head of a word must be 0 to 1, but is '2'"),
        ("1\ta\t_\tX\tX\t_\t_\t_\t_\t_", "the word 'a' has no head"),
        ("1\ta\t_\t_\tX\t_\t0\troot\t_\t_", "the word 'a' has no part of speech"),
    )),
    *(("are no trees", partial(trees, *arrays)) for arrays in (
        ([0, 0], [0, 0], [0, 2]),  # two roots
        ([0, 0], [2, 0], [0, 2]),  # a child is absent
        ([0, 0, 0, 0], [1, 2, 0, 0], [0, 2, 4]),  # a child in the next tree
        ([0, 0, 0], [1, 0, 1], [0, 3]),  # a child before its parent
        ([0, 1], [1, 0], [0, 2]),  # a label that is not there
        ([0, 0], [1], [0, 2]),
        ([0, 0], [1, 0], [0, 1]),
        ([0, 0], [1, 0], [0, 3, 2]),
        ([0, 0], [3, -1], [0, 2]),
        ([0], [0], [0, 1], ("a\nb",)),
    )),
    # tokenizers
    *(("'eng'.*did you mean 'en'", partial(Tokenizer, "eng", kind))
      for kind in ("moses", "moses-2012", "whitespace")),
    ("splits zh, not th", partial(Tokenizer, "th", segmenter="jieba")),
    ("unknown segmenter", partial(Tokenizer, "zh", segmenter="jeiba")),
    # quality of words
    ("unknown knowledge 'pretraind'; known: decoder", knowledge("pretraind")),
    ("'knowledge' has 'predictor' twice", knowledge("predictor", "predictor")),
    ("'decoder': 'marker' must be", knowledge({"kind": "decoder", "marker": "bep"})),
    ("'decoder' has no parameter 'marked'", knowledge({"kind": "decoder", "marked": "bpe"})),
    ("'knowledge.0' must be .*'bpe'", knowledge({"marker": "bpe"})),
    ("'knowledge.0' must be .*3", knowledge(3)),
    ("`synthetic` judges words without labels", knowledge("synthetic", "predictor")),
    ("'predictor': 'predictor' must be a part", knowledge({"kind": "predictor", "predictor": "aligner"})),
    *((f"^word_tags, segment 2: .*found {found}", partial(tag_labels, ["OK OK OK", line], tokens("a", "a b")))
      for line, found in (("OK BAD", 2), ("OK OK OK OK OK OK", 6), ("OK ok OK OK OK", "'ok'"))),
    ("^source_tags, segment 2: .*found 1", partial(source_tag_labels, ["OK", "OK"], np.array([1, 2]))),
    ("^source_tags, segment 1: .*'GOOD'", partial(source_tag_labels, ["GOOD"], np.array([1]))),
    *((f"^{PROBABILITIES}, segment 2: expected 3", partial(tag_probabilities, ["0 0 0", line], TWO))
      for line in ("0.5 0.5", "0.5 0.5 0.5 0.5")),
    *((f"^{PROBABILITIES}, segment 2: .*between 0 and 1", partial(tag_probabilities, ["0 0 0", line], TWO))
      for line in ("0.1 1.5 0.1", "0.1 -0.5 0.1", "0 nan 0", "0 a 0")),
    ("it takes 4 columns, but there are 3", partial(same_width, 3, 4)),
    ("the trees of a model of words are damaged", partial(load_trees, "tree")),
    *(("the trees of a model of words are damaged", partial(changed_trees, old, new, load_trees))
      for old, new, _ in WALKED_OTHERWISE),
]  # fmt: skip


@pytest.mark.parametrize(("location", "call"), REFUSED)
def test_refused(location: str, call: Any, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refuses(location, call)


DAMAGED = [
    *((problem, partial(changed_trees, old, new, TreeWalks.from_text))
      for old, new, problem in WALKED_OTHERWISE),
    *(("names columns that are not read", partial(used, content)) for content in (
        ["x"], "pseudo_reference", [7], {"pseudo_reference": 1}, [["annotation_source"]],
    )),
    ("`text` must hold numbers from", overflowing),
]  # fmt: skip


@pytest.mark.parametrize(("location", "call"), DAMAGED)
def test_damage(location: str, call: Any, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refuses(location, call, error=Damaged)
