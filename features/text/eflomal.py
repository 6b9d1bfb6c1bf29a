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
    source, target = TokensBuilder(), TokensBuilder()
    for batch in batches(pairs, 5000):
        source.add(tokenizers[0].tokens([pair[0] for pair in batch]))
        target.add(tokenizers[1].tokens([pair[1] for pair in batch]))
        progress("reading the text", len(source), None)
    length = len(source)
    if corpus is not None:
        source.add(corpus.source)
        target.add(corpus.target)
    sides = source.tokens(), target.tokens()
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
            ids, offsets = tokens.lower().ids, tokens.offsets.tolist()
            sentences = tuple(ids[a:b].astype(np.uint32) for a, b in pairwise(offsets))
            with paths[name].open("wb") as stream:
                eflomal.write_text(stream, sentences, len(tokens.lower().types))
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
        if not (paths["forward"].is_file() and paths["backward"].is_file()):
            raise InputError("eflomal wrote no links: it was stopped, or ran out of memory or disk space")
        forward, backward = read_lines(paths["forward"]), read_lines(paths["backward"])
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


def _check_lengths(tokens: Tokens, side: str) -> None:
    longest = int(tokens.lengths.argmax()) if len(tokens) else 0
    if len(tokens) and tokens.lengths[longest] > _MAX_WORDS:
        raise InputError(
            f"eflomal aligns sentences of at most {_MAX_WORDS:,} tokens, but this one has "
            f"{tokens.lengths[longest]:,}",
            location=f"{side}:{longest + 1}",
            remedy="split it, or use the aligner of a bundle",
        )


def _read_links(lines: Iterator[str], count: int) -> Links:
    links = Links.from_pharaoh(islice(lines, count))
    if len(links) != count:
        raise InputError(f"eflomal wrote {len(links)} lines where {count} were due")
    return links
