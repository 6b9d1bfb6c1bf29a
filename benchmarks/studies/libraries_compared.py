"""Own code beside libraries: topics, prediction intervals, language of text.

python benchmarks/studies/libraries_compared.py --source train.en.gz --target train.es.gz

scikit-learn is there; crepes and py3langid are left out where they are not installed.
"""

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score

from features.basics.array_types import FloatArray
from features.storage.files import read_lines
from qe.models.intervals import conformal_quantile
from qe.models.language_profile import LanguageProfile
from qe_papers.resources.topic_model import Bags, LdaSettings, expected_words, infer, train

TOPICS, ALPHA, ETA, BATCH = 10, 0.1, 0.01, 4096
LEVEL = 0.9


def main() -> None:
    """Prints a line for each pair of ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=20_000)
    arguments = parser.parse_args()
    source, target = (
        list(islice(read_lines(p), arguments.pairs)) for p in (arguments.source, arguments.target)
    )
    topics(source)
    intervals()
    languages(source, target)


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What `run` gives, and its CPU seconds."""
    started = time.process_time()
    return run(), time.process_time() - started


def topics(texts: list[str]) -> None:
    """One pass over nine tenths of the text, then the perplexity of the last tenth."""
    counts = CountVectorizer(max_df=0.05, min_df=20).fit_transform(texts).tocsr().astype(np.int32)
    known, new = counts[: len(texts) * 9 // 10], counts[len(texts) * 9 // 10 :]
    settings = LdaSettings(TOPICS, ALPHA, ETA, batch=BATCH)
    train(_bags(known[:50]), known.shape[1], settings, lambda _: None)  # compiles
    weights, seconds = timed(lambda: train(_bags(known), known.shape[1], settings, lambda _: None))
    shares, inferring = timed(lambda: infer(_bags(new), expected_words(weights), ALPHA))
    _print("topics, ours", seconds, inferring, _perplexity(new, shares, weights.T))
    model = LatentDirichletAllocation(
        TOPICS, doc_topic_prior=ALPHA, topic_word_prior=ETA, learning_method="online", batch_size=BATCH,
        learning_decay=0.7, max_iter=1, random_state=0, max_doc_update_iter=50, total_samples=known.shape[0],
    )  # fmt: skip
    _, seconds = timed(lambda: model.fit(known))
    shares, inferring = timed(lambda: model.transform(new))
    _print("topics, scikit-learn", seconds, inferring, _perplexity(new, shares, model.components_))


def _print(name: str, fitting: float, inferring: float, perplexity: float) -> None:
    print(
        f"{name}: fit {fitting:.2f} s, infer {inferring:.2f} s, held-out perplexity {perplexity:.1f}",
        flush=True,
    )


def _bags(counts: csr_matrix) -> Bags:
    return Bags(counts.indices.astype(np.int32), counts.data.astype(np.int32), counts.indptr.astype(np.int64))


def _perplexity(counts: csr_matrix, shares: FloatArray, weights: FloatArray) -> float:
    """Per word, under the mean topic shares and the mean words of each topic."""
    words = weights / weights.sum(axis=1, keepdims=True)
    rows, columns = counts.nonzero()
    chances = np.einsum("ij,ij->i", shares[rows], words.T[columns])
    times = np.asarray(counts[rows, columns]).ravel()
    return float(np.exp(-(times * np.log(chances)).sum() / times.sum()))


def intervals(n: int = 2000) -> None:
    """Half widths by normalised residuals; crepes' are those of the same rank."""
    generator = np.random.default_rng(0)
    residuals, difficulty = np.abs(generator.normal(size=n)), generator.uniform(0.5, 2, n)
    ours, seconds = timed(lambda: conformal_quantile(np.sort(residuals / difficulty), LEVEL))
    print(f"intervals, ours: quantile {ours:.6f} in {seconds:.4f} s")
    if find_spec("crepes") is None:
        print("intervals, crepes: not installed")
        return
    from crepes import ConformalRegressor

    def fitted() -> float:
        regressor = ConformalRegressor().fit(residuals, sigmas=difficulty)
        ends = regressor.predict_int(np.zeros(1), sigmas=np.ones(1), confidence=LEVEL)
        return float(ends[0, 1])

    theirs, seconds = timed(fitted)
    print(f"intervals, crepes: quantile {theirs:.6f} in {seconds:.4f} s")


def languages(source: list[str], target: list[str], known: int = 2000, asked: int = 1000) -> None:
    """Prints how well text of another language is told from text like that of training.

    Area under the ROC curve.
    """
    profile, seconds = timed(lambda: LanguageProfile.make(target[:known]))
    other, same = source[-asked:], target[-asked:]
    wrong = np.r_[np.ones(len(other)), np.zeros(len(same))]
    bits, asking = timed(lambda: profile.bits([*other, *same]))
    auc = roc_auc_score(wrong, bits)
    each = 1e6 * asking / len(wrong)
    print(f"language, ours: AUC {auc:.4f}, {each:.0f} us a segment, profile in {seconds:.2f} s")
    if find_spec("py3langid") is None:
        print("language, py3langid: not installed")
        return
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier, loading = timed(lambda: LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True))
    expected = identifier.classify(" ".join(target[:known]))[0]
    answers, asking = timed(lambda: [dict(identifier.rank(text)) for text in [*other, *same]])
    auc = roc_auc_score(wrong, [-answer[expected] for answer in answers])
    each = 1e6 * asking / len(wrong)
    print(f"language, py3langid: AUC {auc:.4f}, {each:.0f} us a segment, loaded in {loading:.2f} s")


if __name__ == "__main__":
    main()
