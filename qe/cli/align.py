"""`qe align`: align the words of parallel text."""

import sys
from pathlib import Path
from typing import cast

from qe.cli.shared.progress import progress_bar


def align(
    source: Path,
    target: Path,
    resources: Path | None = None,
    aligner: str = "hmm",
    with_corpus: bool = False,
    symmetrize: str = "grow-diag-final-and",
    tokenized: bool = False,
    output: Path | None = None,
    quiet: bool = False,
) -> None:
    r"""Align the words of parallel text with the HMM aligner of a bundle, or with eflomal.

    Writes `i-j` links (source and target token, from 0), one line for each line of the input; an empty line
    gives an empty line. Without --tokenized, positions count the tokens of the bundle's tokenizers.

    eflomal keeps no model: it learns from the text that it aligns, which should be large, or small compared
    with the corpus of a bundle (--with-corpus). It seeds itself: its links differ slightly between runs.

    Example:

        qe align --resources en-es.bundle --source news.en --target news.es --output news.links

        qe align --aligner eflomal --tokenized --source train.en --target train.es --output train.links

    options:
      --source FILE  Source text, one sentence per line, plain or gzip.
      --target FILE  Its translation, line by line.
      --resources DIR  Bundle with the part `aligner` (qe resources build).
      --aligner hmm|eflomal  hmm: the aligner of the bundle; eflomal: learns from the text itself (pip install
          'mtqe[eflomal]').
      --with-corpus  eflomal also learns from the bundle's corpus.
      --symmetrize METHOD  grow-diag-final-and, grow-diag, intersection, union, source-target, target-source,
          or posterior (links that are probable in both directions: the most accurate on average; hmm only).
      --tokenized  The text is tokenized: split it at whitespace only.

    output:
      -o, --output FILE  File of links (Pharaoh format). (default: stdout)
    """
    from features.basics.errors import InputError, known_name
    from features.core.bundle import Bundle
    from features.resources.aligner import Aligner, align_lines, check_symmetrization
    from features.storage.files import atomic_file
    from features.text import eflomal
    from features.text.corpus import read_pairs
    from features.text.tokenizer import Tokenizer
    from qe.resources.corpora import corpus_of

    method = check_symmetrization(symmetrize)
    known_name("aligner", aligner, ("hmm", "eflomal"), location="--aligner")
    if with_corpus and aligner != "eflomal":
        raise InputError("--with-corpus is for eflomal", remedy="add --aligner eflomal")
    if resources is None and (aligner == "hmm" or with_corpus):
        subject = "--with-corpus" if with_corpus else "the aligner hmm"
        raise InputError(f"{subject} needs a bundle", remedy="add --resources DIR")
    if resources is None and not tokenized:
        raise InputError("the tokenization is not given", remedy="add --tokenized, or --resources DIR")
    pairs = read_pairs(source, target)
    bundle = None if resources is None else Bundle(resources)
    tokenizers = (Tokenizer(kind="whitespace", normalise=False),) * 2
    if bundle is not None and not tokenized:
        tokenizers = bundle.tokenizers
    with progress_bar(quiet) as progress:
        if aligner == "eflomal":
            corpus = corpus_of(bundle) if bundle is not None and with_corpus else None
            lines = eflomal.align_lines(pairs, tokenizers, method, corpus=corpus, progress=progress)
        else:
            hmm = cast(Aligner, cast(Bundle, bundle).part("aligner"))
            lines = align_lines(hmm, pairs, tokenizers, method, progress=progress)
        ended = (line + "\n" for line in lines)
        if output is None:
            sys.stdout.writelines(ended)
            return
        with atomic_file(output) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(ended)
