"""Hot paths against the field's tools and the best NumPy code: one process, one thread.

    python benchmarks/bench_peers.py [--segments 400] [--pairs 5401] [--samples 1000] [--data ../shared/data]
    python benchmarks/bench_peers.py --page docs/results/speed.md     # the table of that page anew

Prints CPU seconds and their ratio (above 1: faster here), and how far the results agree: sacreBLEU for TER,
chrF, BLEU and its bootstrap, eflomal, KenLM, scikit-learn for LDA, NumPy for IBM Model 1 and the bootstrap.
Texts are lines on both sides: what it takes to read them counts. kenlm and eflomal are optional packages.
"""

import argparse
import importlib.util
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("QE_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import sacrebleu
from bench_significance import multiplied_bootstrap
from scipy.sparse import csr_matrix
from sklearn.decomposition import LatentDirichletAllocation

from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.lexicon import NULL, Lexicon
from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus
from features.text.eflomal import align_lines
from features.text.links import Links
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe.statistics.resampling import bootstrap_scores
from qe.systems.mt_metrics.edits import Ter
from qe.systems.mt_metrics.ngrams import Bleu, Chrf
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts
from qe_papers.resources.topic_model import TopicModel, bags_of, joined

ROOT = Path(__file__).resolve().parent.parent
WORDS = Tokenizer("en", "whitespace", normalise=False)
BEGIN, END = "<!-- peers: by `make bench` -->", "<!-- end of peers -->"

Result = TypeVar("Result")
Lines = list[str]


@dataclass(frozen=True)
class Row:
    """One hot path: CPU seconds here and of a peer, and how far the results agree."""

    what: str
    peer: str
    ours: float
    theirs: float
    agreement: str

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    def print(self) -> None:
        seconds = f"{self.ours:.3f} s, {self.peer} {self.theirs:.3f} s"
        print(f"{self.what}: {seconds}: x{self.ratio:.1f} ({self.agreement})", flush=True)

    @property
    def in_page(self) -> str:
        ratio = f"{self.ratio:.0f}" if self.ratio >= 10 else f"{self.ratio:.1f}"
        return f"| {self.what} | {self.peer} | {ratio} | {self.agreement} |"


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What the work gives, and its CPU seconds, those of its child processes included."""
    before = cpu_seconds()
    result = work()
    return result, cpu_seconds() - before


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def warm(work: Callable[[], Result]) -> tuple[Result, float]:
    """The second time: compiled kernels have been loaded."""
    work()
    return timed(work)


# --- translations against references -----------------------------------------------------------------


def translations(folder: Path, segments: int) -> list[Lines]:
    """Translations and their references."""
    names = ("hyps.lc.tok.en.sys1.opt1.gz", "refs.test2010.lc.tok.en.0.gz")
    return [list(islice(read_lines(folder / name), segments)) for name in names]


def metric_rows(folder: Path, segments: int) -> Iterator[Row]:
    hypothesis, reference = translations(folder, segments)
    peers: list[tuple[str, TextMetric, Any]] = [
        ("TER", Ter(), sacrebleu.TER()),
        ("chrF", Chrf(), sacrebleu.CHRF()),
        ("BLEU", Bleu(), sacrebleu.BLEU(tokenize="none", force=True)),
    ]
    for name, here, there in peers:
        ours, seconds = warm(lambda here=here: here.score(hypothesis, [reference]))
        theirs, peer_seconds = timed(lambda there=there: there.corpus_score(hypothesis, [reference]).score)
        what = f"{name} of {len(hypothesis):,} segments"
        yield Row(what, "sacreBLEU", seconds, peer_seconds, f"differ by {abs(ours - theirs):.1g}")


def bootstrap_rows(folder: Path, segments: int, samples: int) -> Iterator[Row]:
    """BLEU of virtual test sets: sacreBLEU's bootstrap, and NumPy on ready statistics."""
    hypothesis, reference = translations(folder, segments)
    bleu, tool = Bleu(), sacrebleu.BLEU(tokenize="none", force=True)
    what = f"{samples:,} bootstrap samples of BLEU, {len(hypothesis):,} segments"

    def whole() -> Any:
        statistics = bleu.statistics(Texts.from_lines(hypothesis), [Texts.from_lines(reference)])
        return statistics, bootstrap_scores(statistics, bleu.aggregate, samples=samples)

    (statistics, scores), seconds = warm(whole)
    score, theirs = timed(lambda: tool.corpus_score(hypothesis, [reference], n_bootstrap=samples))
    half = float(np.diff(np.quantile(scores, [0.025, 0.975]))[0] / 2)
    agree = f"half of the 95 % interval {half:.2f}, there {score._ci:.2f}"
    yield Row(f"{what}, from text", "sacreBLEU", seconds, theirs, agree)
    _, ours = warm(lambda: bootstrap_scores(statistics, bleu.aggregate, samples=samples))
    best, theirs = warm(lambda: multiplied_bootstrap(statistics[None], samples))
    spread = f"standard deviations {scores.std():.2f} and {best.std():.2f}"
    yield Row(f"{what}, from statistics", "NumPy: counts @ statistics", ours, theirs, spread)


# --- what is learned from parallel text --------------------------------------------------------------


def corpus_of(folder: Path, pairs: int) -> ParallelCorpus:
    sides = (read_lines(folder / f"corpus.{side}.gz") for side in ("en", "es"))
    return ParallelCorpus.from_lines(islice(zip(*sides, strict=True), pairs), WORDS, WORDS)


def aligner_row(corpus: ParallelCorpus, folder: Path) -> Iterator[Row]:
    """Links of 200 pairs with gold links, learned from the corpus that has them."""
    if importlib.util.find_spec("eflomal") is None:
        print("eflomal is not installed: no comparison with it (pip install 'mtqe[eflomal]')")
        return
    source, target = (list(read_lines(folder / f"dev.{side}")) for side in ("en", "es"))

    def here() -> Links:
        texts = (Tokens.from_lists(line.split() for line in side) for side in (source, target))
        return Aligner.build(corpus).align(*texts)

    def there() -> Links:
        return Links.from_pharaoh(
            align_lines(zip(source, target, strict=True), (WORDS, WORDS), corpus=corpus)
        )

    few = corpus.take(np.arange(20))
    Aligner.build(few).align(few.source, few.target)
    ours, seconds = timed(here)
    theirs, peer_seconds = timed(there)
    gold = {tuple(int(x) - 1 for x in line.split()) for line in read_lines(folder / "dev.key")}
    agree = f"F1 with gold links {f1(ours, gold):.3f}, there {f1(theirs, gold):.3f}"
    yield Row(f"word alignment, {len(corpus):,} pairs", "eflomal", seconds, peer_seconds, agree)


def f1(links: Links, gold: set[tuple[int, ...]]) -> float:
    segment = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    found = set(zip(segment.tolist(), links.source.tolist(), links.target.tolist(), strict=True))
    return 2 * len(found & gold) / (len(found) + len(gold))


def language_model_row(corpus: ParallelCorpus) -> Iterator[Row]:
    if importlib.util.find_spec("kenlm") is None:
        print("kenlm is not installed: no comparison with it (pip install 'mtqe[kenlm]')")
        return
    import kenlm

    model = LanguageModel.from_tokens(corpus.target, order=5)
    lines = [" ".join(corpus.target.lower().words(i)) for i in range(len(corpus))]
    with tempfile.TemporaryDirectory() as folder:
        model.write_arpa(Path(folder) / "model.arpa")
        peer = kenlm.Model(f"{folder}/model.arpa")

    def here() -> Any:
        return model.log10_probability(Tokens.from_lists(line.split() for line in lines))

    ours, seconds = warm(here)
    theirs, peer_seconds = warm(lambda: np.array([peer.score(line) for line in lines]))
    what = f"5-gram scores of {len(corpus.target.ids):,} tokens"
    yield Row(what, "KenLM", seconds, peer_seconds, f"differ by {np.abs(ours - theirs).max():.1g} at most")


def ibm1_row(corpus: ParallelCorpus, iterations: int = 5) -> Iterator[Row]:
    """NumPy's best known to us: one cell per pair of tokens, sums by `bincount`."""
    source, target = corpus.source.lower(), corpus.target.lower()
    Lexicon.from_tokens(source.take(np.arange(20)), target.take(np.arange(20)))
    lexicon, ours = timed(lambda: Lexicon.from_tokens(source, target, iterations=iterations, prune=0.0))
    (given, words, values), theirs = timed(lambda: ibm1(source, target, iterations))
    rows = np.where(given < 0, NULL, lexicon.source.lookup([source.types[g] for g in given]))
    known = lexicon.probability(rows, lexicon.target.lookup([target.types[w] for w in words]))
    what = f"IBM Model 1, {iterations} iterations, {len(corpus):,} pairs"
    yield Row(what, "NumPy: bincount", ours, theirs, f"differ by {np.abs(known - values).max():.1g} at most")


def ibm1(source: Tokens, target: Tokens, iterations: int) -> tuple[Any, Any, Any]:
    """(given word or -1 for NULL, word, probability) of every pair of words that occur together."""
    given, words, token = [], [], []
    for i in range(len(source)):
        left = np.concatenate(([-1], source.ids[source.offsets[i] : source.offsets[i + 1]]))
        places = np.arange(target.offsets[i], target.offsets[i + 1])
        given.append(np.tile(left, len(places)))
        words.append(np.repeat(target.ids[places], len(left)))
        token.append(np.repeat(places, len(left)))
    left, right, place = (np.concatenate(column).astype(np.int64) for column in (given, words, token))
    width = len(target.types)
    pairs, cell = np.unique((left + 1) * width + right, return_inverse=True)
    values = np.full(len(pairs), 1.0 / len(np.unique(target.ids)))
    for _ in range(iterations):
        shares = values[cell]
        shares /= np.bincount(place, shares, minlength=len(target.ids))[place]
        counts = np.bincount(cell, shares, minlength=len(pairs))
        values = counts / np.bincount(pairs // width, counts)[pairs // width]
    return pairs // width - 1, pairs % width, values


def lda_row(corpus: ParallelCorpus, topics: int = 10, passes: int = 5) -> Iterator[Row]:
    """Online variational Bayes with the same settings; perplexities by scikit-learn's own bound."""
    TopicModel.build(corpus.take(np.arange(100)), topics=topics)
    ours, seconds = timed(lambda: TopicModel.build(corpus, topics=topics, passes=passes))
    bags = joined(bags_of(corpus.source, ours.source), bags_of(corpus.target, ours.target), len(ours.source))
    table = csr_matrix(
        (bags.counts, bags.ids, bags.offsets), (len(bags), len(ours.source) + len(ours.target))
    )
    peer = LatentDirichletAllocation(
        topics, doc_topic_prior=0.1, topic_word_prior=0.01, learning_method="online", learning_offset=10.0,
        learning_decay=0.7, batch_size=4096, max_iter=passes, max_doc_update_iter=50, random_state=0,
    )  # fmt: skip
    _, theirs = timed(lambda: peer.fit(table))
    perplexity = peer.perplexity(table)
    peer.components_ = np.asarray(ours.weights.T, np.float64)
    peer.exp_dirichlet_component_ = np.exp(_expectation(peer.components_))
    agree = f"perplexity {peer.perplexity(table):,.0f}, there {perplexity:,.0f}"
    what = f"LDA, {topics} topics, {passes} passes, {len(corpus):,} documents"
    yield Row(what, "scikit-learn", seconds, theirs, agree)


def _expectation(weights: Any) -> Any:
    from scipy.special import psi

    return psi(weights) - psi(weights.sum(axis=1, keepdims=True))


# --- the page ----------------------------------------------------------------------------------------


def write_page(path: Path, rows: list[Row]) -> None:
    """Puts the ratios between the two marks of a page."""
    before, mark, rest = path.read_text("utf-8").partition(BEGIN)
    if not mark or END not in rest:
        raise SystemExit(f"{path}: needs the lines {BEGIN} and {END}")
    table = ["| what | compared with | times as fast | results |", "| --- | --- | ---: | --- |"]
    table += [row.in_page for row in rows]
    path.write_text("\n".join([before + BEGIN, *table, END + rest.partition(END)[2]]), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--segments", type=int, default=400)
    parser.add_argument("--pairs", type=int, default=5401)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--page", type=Path, help="a page whose table is written anew")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    texts, gold = given.data / "golden" / "multeval", given.data / "alignment" / "en-es" / "cse256"
    corpus = corpus_of(gold, given.pairs)
    rows = []
    for part in (
        metric_rows(texts, given.segments),
        bootstrap_rows(texts, given.segments, given.samples),
        aligner_row(corpus, gold),
        language_model_row(corpus),
        ibm1_row(corpus),
        lda_row(corpus),
    ):
        for row in part:
            row.print()
            rows.append(row)
    if given.page is not None:
        write_page(given.page, rows)


if __name__ == "__main__":
    main()
