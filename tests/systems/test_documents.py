"""Document scores and the five BLEU models against closed forms, sacrebleu and MultEval's figures."""

import gzip
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from qe.statistics.metrics.ranking import delta_avg_by_n
from qe.systems import Bleu, Texts
from qe.systems.documents import (
    blocks,
    delta_avg_of_sets,
    document_means,
    document_names,
    document_scores,
    document_statistics,
    evaluate_documents,
    ranking_accuracy,
)
from qe_papers.selection.chooser import (
    MATCHED,
    REFERENCE_LENGTH,
    BleuModel,
    segment_bleu,
    targets,
    without_reference,
)
from tests.factories import Find

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "dog", "ran", "to", "it")


def texts(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(4, 20))) for _ in range(n)]


def statistics(n: int, seed: int) -> tuple[np.ndarray, list[str], list[str]]:
    rng = np.random.default_rng(seed)
    references = texts(n, seed)
    # Some words are replaced, so that n-grams of all orders match here and there.
    hypotheses = [" ".join(w if rng.random() < 0.8 else "x" for w in r.split()) for r in references]
    return (
        Bleu().statistics(Texts.from_lines(hypotheses), [Texts.from_lines(references)]),
        hypotheses,
        references,
    )


def mean(sums: np.ndarray) -> np.ndarray:
    return np.asarray(sums[..., 0] / sums[..., 1])


def definition(gold: np.ndarray, predicted: np.ndarray, n: int) -> float:
    """rAcc[n] as printed: (1 / N) sum of TP_i, quantiles as sets."""
    size = len(gold) // n

    def quantiles(values: np.ndarray) -> list[set[int]]:
        best_first = sorted(range(len(values)), key=lambda i: -values[i])
        cuts = [size * i for i in range(n)] + [len(values)]
        return [set(best_first[a:b]) for a, b in pairwise(cuts)]

    pairs = zip(quantiles(gold), quantiles(predicted), strict=True)
    return sum(len(a & b) for a, b in pairs) / len(gold)


@settings(max_examples=60)
@given(st.integers(2, 60), st.integers(2, 6), st.integers(0, 2**31))
def test_ranking_accuracy_is_the_published_definition(size: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold, predicted = rng.normal(size=size), rng.normal(size=size)
    if size < n:
        assert np.isnan(ranking_accuracy(gold, predicted, n))
        return
    outcome = ranking_accuracy(gold, predicted, n)
    assert outcome == pytest.approx(definition(gold, predicted, n), abs=1e-15)
    assert ranking_accuracy(gold, np.exp(predicted), n) == outcome
    assert ranking_accuracy(predicted, gold, n) == outcome
    assert ranking_accuracy(gold, gold, n) == 1.0


def test_ranking_accuracy_of_halves_is_binary_accuracy() -> None:
    gold = np.arange(10.0)
    assert ranking_accuracy(gold, -gold) == 0.0
    assert ranking_accuracy(gold[:9], -gold[:9]) == pytest.approx(1 / 9)  # 4 and 5: the middle one stays
    swapped = gold.copy()
    swapped[[0, 9]] = swapped[[9, 0]]
    assert ranking_accuracy(gold, swapped) == 0.8


def test_ranking_accuracy_of_a_random_ranking_is_one_in_n() -> None:
    rng = np.random.default_rng(0)
    gold = np.arange(60.0)
    for n in (2, 3, 5):
        drawn = [ranking_accuracy(gold, rng.permutation(gold), n) for _ in range(2000)]
        assert abs(np.mean(drawn) - 1 / n) < 4 * np.std(drawn) / np.sqrt(len(drawn))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_delta_avg_of_sets_is_delta_avg_where_the_value_of_a_set_is_a_mean(n: int) -> None:
    rng = np.random.default_rng(n)
    gold, predicted = rng.normal(size=23), rng.normal(size=23)
    sums = np.stack([gold, np.ones(23)], axis=1)
    expected = delta_avg_by_n(gold, predicted)[n - 2]
    assert delta_avg_of_sets(sums, predicted, mean, n) == pytest.approx(expected, abs=1e-12)


def test_delta_avg_of_halves_is_bleu_of_the_better_half_less_bleu_of_all() -> None:
    rows, hypotheses, references = statistics(20, 1)
    predicted = np.random.default_rng(2).normal(size=20)
    half = np.argsort(-predicted)[:10]

    def bleu(chosen: np.ndarray) -> float:
        return float(
            sacrebleu.corpus_bleu(
                [hypotheses[i] for i in chosen],
                [[references[i] for i in chosen]],
                tokenize="none",
                force=True,
            ).score
        )

    expected = bleu(half) - bleu(np.arange(20))
    assert delta_avg_of_sets(rows, predicted, Bleu().aggregate) == pytest.approx(expected, abs=1e-9)


def test_document_bleu_is_sacrebleu_of_the_document() -> None:
    rows, hypotheses, references = statistics(23, 3)
    documents = [f"d{i % 4}" for i in range(23)]  # not contiguous
    by_document = document_scores(rows, documents, Bleu().aggregate)
    assert document_names(documents) == ["d0", "d1", "d2", "d3"]
    for name, score in zip(document_names(documents), by_document, strict=True):
        inside = [i for i, d in enumerate(documents) if d == name]
        own, ref = [hypotheses[i] for i in inside], [references[i] for i in inside]
        expected = sacrebleu.corpus_bleu(own, [ref], tokenize="none", force=True).score
        assert score == pytest.approx(expected, abs=1e-9)


def test_sums_of_documents_give_the_corpus_bleu_that_multeval_printed(shared_data: Find) -> None:
    def lines(name: str) -> list[str]:
        with gzip.open(shared_data(f"golden/multeval/{name}.gz"), "rt", encoding="utf-8") as stream:
            return stream.read().splitlines()

    hypotheses, references = lines("hyps.lc.tok.en.baseline.opt0"), lines("refs.test2010.lc.tok.en.0")
    rows = Bleu().statistics(Texts.from_lines(hypotheses), [Texts.from_lines(references)])
    sums = document_statistics(rows, blocks(len(rows), 10))
    assert len(sums) == 249
    whole = float(Bleu().aggregate(sums.sum(axis=0)))
    assert whole == pytest.approx(18.538889, abs=5e-7)
    assert whole == pytest.approx(Bleu().score(hypotheses, [references]), abs=1e-12)


def test_document_means_are_weighted() -> None:
    scores, documents = np.array([1.0, 3.0, 5.0]), ["b", "a", "b"]
    np.testing.assert_allclose(document_means(scores, documents), [3.0, 3.0])
    outcome = document_means(scores, documents, np.array([3.0, 0.0, 1.0]))
    np.testing.assert_allclose(outcome, [2.0, np.nan])


def test_targets_are_undefined_where_there_is_nothing_to_count() -> None:
    rows = Bleu().statistics(Texts.from_lines(["a b", "", "c"]), [Texts.from_lines(["a b", "x y", "d c"])])
    np.testing.assert_allclose(
        targets(rows), [[1, 1, np.nan, np.nan, 1], [np.nan] * 5, [1, np.nan, np.nan, np.nan, 2]]
    )


def test_what_a_reference_tells_is_hidden() -> None:
    rows, _, _ = statistics(4, 0)
    known = without_reference(rows)
    assert np.isnan(known[:, REFERENCE_LENGTH]).all() and np.isnan(known[:, MATCHED]).all()
    assert np.isfinite(np.delete(known, [1, 2, 3, 4, 5], axis=1)).all()
    assert np.isfinite(rows).all()  # the given array is left alone


def test_features_that_tell_everything_give_the_true_document_bleu() -> None:
    """Where each target is a feature, linear models find it, and sums are those of the true statistics."""
    rows, _, _ = statistics(300, 5)
    table = pd.DataFrame(np.nan_to_num(targets(rows)), columns=list("abcde"))
    model = BleuModel("ridge", {"alpha": 1e-9}).fit(table, rows)
    predicted = model.predict(table, without_reference(rows))
    np.testing.assert_allclose(predicted, rows, atol=1e-6)
    documents = blocks(300, 10)
    np.testing.assert_allclose(
        document_scores(predicted, documents, Bleu().aggregate),
        document_scores(rows, documents, Bleu().aggregate),
        atol=1e-6,
    )


def test_constant_models_give_every_document_the_bleu_of_mean_precisions() -> None:
    """Closed form: with p_n and |r| / |c| the same everywhere, every document scores alike."""
    rows, _, _ = statistics(200, 6)
    model = BleuModel("mean").fit(pd.DataFrame({"a": np.zeros(200)}), rows)
    predicted = model.predict(pd.DataFrame({"a": np.zeros(200)}), without_reference(rows))
    p = np.nanmean(targets(rows), axis=0)
    expected = 100 * np.exp(min(0.0, 1 - p[4]) + np.log(p[:4]).mean())
    by_document = document_scores(predicted, blocks(200, 10), Bleu().aggregate)
    np.testing.assert_allclose(by_document, expected, rtol=1e-12)
    np.testing.assert_allclose(segment_bleu(predicted), expected, rtol=1e-12)


def test_predictions_stay_possible() -> None:
    rows, _, _ = statistics(60, 7)
    table = pd.DataFrame({"a": np.arange(60.0)})
    model = BleuModel("ridge", {"alpha": 1e-9}).fit(table, rows)
    wild = model.predict(pd.DataFrame({"a": [-1e9, 1e9]}), without_reference(rows[:2]))
    assert (wild[:, MATCHED] >= 0).all() and (wild[:, MATCHED] <= rows[:2, 6:]).all()
    ratio = targets(rows)[:, 4]
    assert (wild[:, 1] / wild[:, 0] >= ratio.min() - 1e-12).all()
    assert (wild[:, 1] / wild[:, 0] <= ratio.max() + 1e-12).all()


def test_the_report_of_documents() -> None:
    rows, _, _ = statistics(80, 8)
    documents = blocks(80, 8)
    gold = document_scores(rows, documents, Bleu().aggregate)
    report = evaluate_documents(rows, gold, documents, Bleu().aggregate, samples=50)
    assert report.documents == 10
    assert report.pearson.value == pytest.approx(1.0) and report.ranking_accuracy.value == 1.0
    assert report.delta_avg.ci[0] <= report.delta_avg.value
