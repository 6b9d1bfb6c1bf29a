"""eflomal: links of a text by another tool, beside ours and the gold links of cse256."""

import numpy as np
import pytest

from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus
from features.text.eflomal import align, align_lines
from features.text.links import Links
from features.text.tokens import Tokens
from tests.factories import PLAIN, Find, refuses


@pytest.fixture
def eflomal() -> None:
    pytest.importorskip("eflomal", reason="the optional package eflomal is absent")


def copies(n: int) -> list[tuple[str, str]]:
    """Pairs of equal sentences over 40 words."""
    draws = np.random.default_rng(0)
    lines = [" ".join(f"w{i}" for i in draws.permutation(40)[: 3 + k % 5]) for k in range(n)]
    return list(zip(lines, lines, strict=True))


@pytest.mark.slow
@pytest.mark.usefixtures("eflomal")
def test_copies_are_aligned_word_by_word_and_empty_sides_stay_empty() -> None:
    pairs = copies(300)
    pairs[3:6] = [("", "a"), ("a", ""), ("", "")]
    links = list(align_lines(iter(pairs), (PLAIN, PLAIN)))
    assert len(links) == 300 and links[3:6] == ["", "", ""]
    diagonal = [" ".join(f"{i}-{i}" for i in range(len(s.split()))) for s, t in pairs]
    right = sum(a == b for k, (a, b) in enumerate(zip(links, diagonal, strict=True)) if not 3 <= k < 6)
    assert right >= 290


@pytest.mark.slow
@pytest.mark.usefixtures("eflomal")
def test_a_corpus_teaches_what_a_short_text_does_not() -> None:
    corpus = ParallelCorpus.from_lines(copies(400), PLAIN, PLAIN)
    few = [("w1 w2 w3", "w3 w1 w2")]
    (outcome,) = align_lines(iter(few), (PLAIN, PLAIN), corpus=corpus)
    assert {"0-1", "1-2"} <= set(outcome.split()) <= {"0-1", "1-2", "2-0"}


@pytest.mark.usefixtures("eflomal")
def test_a_sentence_too_long_is_named() -> None:
    long = Tokens.from_lists([["a"], ["a"] * 1024])
    refuses("source:2: .*at most 1,023 tokens, but this one has 1,024", next, align(long, long))


@pytest.mark.usefixtures("eflomal")
def test_no_posteriors() -> None:
    refuses("no posteriors", list, align_lines(iter(copies(3)), (PLAIN, PLAIN), "posterior"))


@pytest.mark.usefixtures("eflomal")
def test_gold_links_of_cse256(shared_data: Find) -> None:
    """A tenth of the work on the 5,401 pairs: F1 .664 measured; in full .721 (IBM Model 1: .42)."""
    folder = shared_data("alignment/en-es/cse256")
    sides = (read_lines(folder / f"corpus.{side}.gz") for side in ("en", "es"))
    corpus = ParallelCorpus.from_lines(zip(*sides, strict=True), PLAIN, PLAIN)
    dev = zip(*(read_lines(folder / f"dev.{side}") for side in ("en", "es")), strict=True)
    links = Links.from_pharaoh(align_lines(dev, (PLAIN, PLAIN), corpus=corpus, samplers=1, iterations=0.1))
    gold = {tuple(int(n) - 1 for n in line.split()) for line in read_lines(folder / "dev.key")}
    segment = np.repeat(np.arange(len(links)), np.diff(links.offsets)).tolist()
    paired = set(zip(segment, links.source.tolist(), links.target.tolist(), strict=True))
    f1 = 2 * len(paired & gold) / (len(paired) + len(gold))
    assert f1 >= 0.63


@pytest.mark.slow
@pytest.mark.usefixtures("eflomal")
def test_batches_do_not_lose_lines() -> None:
    source, target = (
        Tokens.from_lists(line.split() for line in side) for side in zip(*copies(50), strict=True)
    )
    pieces = list(align(source, target, batch=7))
    assert [len(piece) for piece in pieces] == [7] * 7 + [1]
