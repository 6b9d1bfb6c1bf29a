"""eflomal (optional): word alignment of a whole text by Gibbs sampling, as Links."""

import importlib
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.errors import InputError
from features.basics.plugins import install
from features.basics.progress import Progress, silent
from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus
from features.text.links import Links, symmetrised
from features.text.tokenizer import Tokenizer, batches
from features.text.tokens import Tokens, TokensBuilder

# eflomal gives longer sentences no link, without a word.
_MAX_WORDS = 1023


def align_lines(
    pairs: Iterable[tuple[str, str]],
    tokenizers: tuple[Tokenizer, Tokenizer],
    symmetrization: str = "grow-diag-final-and",
    *,
    corpus: ParallelCorpus | None = None,
    samplers: int = 3,
    iterations: float = 1.0,
    progress: Progress = silent,
) -> Iterator[str]:
    """One Pharaoh line per pair of lines, empty if a side is; learned from `corpus` too. See `align`."""
    _load()
    sides = _tokens(pairs, tokenizers, corpus, progress)
    length = len(sides[0]) - (len(corpus) if corpus else 0)
    aligned = align(*sides, symmetrization, samplers=samplers, iterations=iterations, progress=progress)
    yield from islice((line for links in aligned for line in links.pharaoh()), length)


def align(
    source: Tokens,
    target: Tokens,
    symmetrization: str = "grow-diag-final-and",
    *,
    samplers: int = 3,
    iterations: float = 1.0,
    null_prior: float = 0.2,
    batch: int = 5000,
    progress: Progress = silent,
) -> Iterator[Links]:
    """Links of all segment pairs, by a model learned from these pairs alone, `batch` pairs at a time.

    HMM with fertilities (Östling and Tiedemann 2016, "Efficient word alignment with Markov Chain Monte
    Carlo"), words lower-cased. eflomal seeds itself: two runs differ in a few links.

    samplers    independent chains, whose samples are averaged
    iterations  of each, relative to what the program chooses by the number of pairs
    null_prior  probability that a word has no counterpart

    Raises InputError if the package is absent, for a sentence of more than 1,023 tokens, and for the
    symmetrisation `posterior`.
    """
    eflomal = _load()
    if symmetrization == "posterior":
        raise InputError("eflomal gives no posteriors", remedy="choose another symmetrisation")
    with tempfile.TemporaryDirectory(prefix="qe-eflomal-") as folder:
        paths = {name: Path(folder) / name for name in ("source", "target", "forward", "backward")}
        for name, tokens in (("source", source), ("target", target)):
            _check_lengths(tokens, name)
            _write(eflomal, tokens.lower(), paths[name])
        progress("aligning: eflomal", 0, len(source))
        eflomal.align(
            str(paths["source"]),
            str(paths["target"]),
            links_filename_fwd=str(paths["forward"]),
            links_filename_rev=str(paths["backward"]),
            n_samplers=samplers,
            rel_iterations=iterations,
            null_prior=null_prior,
            quiet=True,
        )
        forward, backward = (_lines(paths[name]) for name in ("forward", "backward"))
        edges = [*range(0, len(source), batch), len(source)]
        for first, last in pairwise(edges):
            one, other = _read_links(forward, last - first), _read_links(backward, last - first)
            lengths, widths = source.lengths[first:last], target.lengths[first:last]
            yield symmetrised(one, other, lengths, widths, symmetrization)
            progress("aligning: eflomal", last, len(source))


def _load() -> Any:
    try:
        return importlib.import_module("eflomal.cython")
    except ImportError:
        raise InputError(
            "this aligner is the optional package eflomal",
            remedy=f"{install('eflomal')} (it needs a C compiler)",
        ) from None


def _tokens(
    pairs: Iterable[tuple[str, str]],
    tokenizers: tuple[Tokenizer, Tokenizer],
    corpus: ParallelCorpus | None,
    progress: Progress,
) -> tuple[Tokens, Tokens]:
    source, target = TokensBuilder(), TokensBuilder()
    for batch in batches(pairs, 5000):
        for builder, tokenizer, texts in zip(
            (source, target), tokenizers, zip(*batch, strict=True), strict=True
        ):
            builder.add(tokenizer.tokens(texts))
        progress("reading the text", len(source), None)
    if corpus is not None:
        source.add(corpus.source)
        target.add(corpus.target)
    return source.tokens(), target.tokens()


def _check_lengths(tokens: Tokens, side: str) -> None:
    longest = int(tokens.lengths.argmax()) if len(tokens) else 0
    if len(tokens) and tokens.lengths[longest] > _MAX_WORDS:
        raise InputError(
            f"eflomal aligns sentences of at most {_MAX_WORDS:,} tokens, but this one has "
            f"{tokens.lengths[longest]:,}",
            location=f"{side}:{longest + 1}",
            remedy="split it, or use the aligner of a bundle",
        )


def _write(eflomal: Any, tokens: Tokens, path: Path) -> None:
    sentences = tuple(tokens.ids[a:b].astype(np.uint32) for a, b in pairwise(tokens.offsets.tolist()))
    with path.open("wb") as stream:
        eflomal.write_text(stream, sentences, len(tokens.types))


def _lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise InputError("eflomal wrote no links: it was stopped, or ran out of memory or disk space")
    return read_lines(path)


def _read_links(lines: Iterator[str], count: int) -> Links:
    links = Links.from_pharaoh(islice(lines, count))
    if len(links) != count:
        raise InputError(f"eflomal wrote {len(links)} lines where {count} were due")
    return links
