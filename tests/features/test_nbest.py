"""N-best features: by hand, from files as Moses writes them (the manual's own example)."""

import json
from pathlib import Path

import numpy as np
import pytest

from features.nbest import NBest
from qe_papers.moses import nbest_column, trace_column, with_search
from tests.factories import ENGLISH, segments, table

# The example of the Moses manual, "n-best lists".
MANUAL = """\
0 ||| we must discuss on greater vision .  ||| d: 0 -5.56438 0 0 -7.07376 0 0 lm: -36.0974 -13.3428 \
tm: -39.6927 -47.8438 -15.4766 -20.5003 4.99948 w: -7 ||| -9.2298
0 ||| we must also discuss on a vision .  ||| d: -10 -2.3455 0 -1.92155 -3.21888 0 -1.51918 \
lm: -31.5841 -9.96547 tm: -42.3438 -48.4311 -18.913 -20.0086 5.99938 w: -8 ||| -9.26197
0 ||| it is also discuss a vision .  ||| d: -10 -1.63574 -1.60944 -2.70802 -1.60944 -1.94589 -1.08417 \
lm: -31.9699 -12.155 tm: -40.4555 -46.8605 -14.3549 -13.2247 4.99948 w: -7 ||| -9.31777
"""
# Moses 2 and later: one label per feature function; segmentation and word alignment asked for.
NEWER = (
    "1 ||| this is a small house  ||| Distortion0= -2 LM0= -17.5 WordPenalty0= -5 PhrasePenalty0= 3 "
    "TranslationModel0= -1.5 -2 -0.5 -1 LexicalReordering0= -1 0 0 -0.25 0 0 ||| -3.25 "
    "||| 0-1=0-1 3=2 2=3-4 ||| 0-0 1-1 3-2 2-3\n"
)


def features(column: tuple[str, ...], source: str = "a b c d") -> dict[str, list[float]]:
    columns = table(NBest(), segments(source, "x", (ENGLISH, ENGLISH), nbest=column), "nbest_")
    return {name: values.tolist() for name, values in columns.items()}


@pytest.fixture
def moses(tmp_path: Path) -> Path:
    path = tmp_path / "nbest"
    path.write_text(MANUAL + NEWER)
    return path


def test_the_list_of_the_manual(moses: Path) -> None:
    v = features(nbest_column(moses, 3))
    assert [v["size"][i] for i in (0, 1)] == [3, 1] and np.isnan(v["size"][2])
    assert v["score"][0] == -9.2298 and v["margin"][0] == pytest.approx(0.03217)
    assert v["score_per_token"][0] == pytest.approx(-9.2298 / 7)
    models = ("distortion", "word_penalty", "lm", "phrase_inverse", "lexical_inverse", "phrase_direct",
              "lexical_direct", "phrase_penalty", "reordering")  # fmt: skip
    expected = [0, -7, -36.0974 - 13.3428, -39.6927, -47.8438, -15.4766, -20.5003, 4.99948]
    expected.append(-5.56438 - 7.07376)
    assert [v[name][0] for name in models] == pytest.approx(expected)
    shares = np.exp(np.array([-9.2298, -9.26197, -9.31777]))
    shares /= shares.sum()
    assert v["posterior"][0] == pytest.approx(shares[0])
    assert v["entropy"][0] == pytest.approx(-(shares * np.log(shares)).sum())
    # 3 edits of 8 tokens (also, a for greater), 4 of 7 (it is also .. a)
    assert v["distance"][0] == pytest.approx((2 / 8 + 5 / 7) / 2)
    assert v["support_lowest"][0] == pytest.approx(shares[0])  # `greater` is nowhere else
    assert np.isnan(v["phrases"][0]) and np.isnan(v["search_dead"][0])


def test_newer_labels_and_the_segmentation(moses: Path) -> None:
    v = features(nbest_column(moses, 2))
    models = {"distortion": -2, "word_penalty": -5, "lm": -17.5, "phrase_inverse": -1.5,
              "lexical_direct": -1, "phrase_penalty": 3, "reordering": -1.25}  # fmt: skip
    assert {name: v[name][1] for name in models} == models
    assert v["phrases"][1] == 3 and v["trace_density"][1] == 0.75
    assert v["source_phrase_length"][1] == pytest.approx(4 / 3)
    assert v["target_phrase_length"][1] == pytest.approx(5 / 3)
    assert v["longest_phrase"][1] == 2 and v["single_words"][1] == pytest.approx(2 / 3)
    # 0-1, then 3 (2 left out), then back to 2: 0, 1 and 2 words jumped over
    assert v["jumped"][1] == pytest.approx(2 / 3) and v["jump_distance"][1] == 1
    assert np.isnan(v["margin"][1]) and np.isnan(v["distance"][1]) and v["posterior"][1] == 1


def test_traces(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text(
        "this is |0-1| small |3-3| a house |2-2|\n\n"
        "das ist |0-1,wa=0-0 1-1 ,total=-1.5, LM0= -3 WordPenalty0= -2| "
        "ein | haus |2-3,wa=0-0 ,total=-0.5, LM0= -1|\n"
    )
    column = trace_column(path)
    first, empty, last = (json.loads(entry)[0] for entry in column)
    assert first == {"text": "this is small a house", "phrases": [[0, 1, 0, 1], [3, 3, 2, 2], [2, 2, 3, 4]]}
    assert empty == {"text": "", "phrases": []}
    assert last["text"] == "das ist ein | haus" and last["score"] == -2 and last["phrases"][1] == [2, 3, 2, 4]
    assert features(column)["phrases"][0] == 3


def test_search_graphs(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    path.write_text(
        "0 hyp=0 stack=0 forward=2 fscore=-4.1\n"
        "0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=-1 fscore=-6 covered=0-0 out=a score=5\n"
        "0 hyp=2 stack=1 back=0 score=-2 transition=-2 recombined=1 forward=3 fscore=-4.1 covered=0-0 out=b\n"
        "0 hyp=3 stack=2 back=2 score=-4.1 transition=-2.1 forward=-1 fscore=-4.1 covered=1-1 out=c\n"
    )
    v = features(with_search(('["b c"]', '["d"]', "[]"), path))
    assert v["search_nodes"][0] == 1 and v["search_dead"][0] == 0.25 and v["search_recombined"][0] == 0.25
    assert v["transition_mean"][0] == pytest.approx(-1.7)
    assert v["transition_sd"][0] == pytest.approx(np.std([-1, -2, -2.1]))
    assert np.isnan(v["search_nodes"][1]) and np.isnan(v["size"][2])


def test_plain_texts() -> None:
    v = features(('["a b", "a b", "a c"]', "", '[""]'))
    assert v["size"][0] == 3 and v["distinct"][0] == pytest.approx(2 / 3)
    assert v["posterior"][0] == pytest.approx(2 / 3)
    assert v["support"][0] == pytest.approx((1 + 2 / 3) / 2) and v["distance"][0] == 0.25
    assert np.isnan(v["score"][0]) and np.isnan(v["size"][1])
    assert v["size"][2] == 1 and np.isnan(v["support"][2])


def test_ratios_of_lists_with_few_tokens() -> None:
    """By the mean number of tokens, 1/3, 1 and 0, and by the tokens of the best, 1, 0 and 0."""
    v = features(('["a", "", ""]', '["", "a b"]', '["", ""]'))
    assert v["length_ratio"] == [pytest.approx(3), 0, pytest.approx(np.nan, nan_ok=True)]
    assert v["length_sd"] == [pytest.approx(2**0.5), 1, pytest.approx(np.nan, nan_ok=True)]
    assert v["vocabulary"][0] == 1 and np.isnan(v["vocabulary"][1:]).all()
    assert v["distance"] == [1, 1, 0] and v["distinct"][2] == 0.5
