"""`qe align`: align the words of parallel text."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from qe.cli._options import Quiet, output_option
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from features.basics.progress import Progress
    from features.core.bundle import Bundle
    from features.resources.aligner import Symmetrization
    from features.text.tokenizer import Tokenizer

    Pairs = Iterable[tuple[str, str]]


def align(
    source: Annotated[Path, typer.Option(help="Source text, one sentence per line, plain or gzip.")],
    target: Annotated[Path, typer.Option(help="Target text, line by line its translation.")],
    resources: Annotated[
        Path | None, typer.Option(help="Bundle with the part `aligner` (qe resources build).")
    ] = None,
    aligner: Annotated[
        str,
        typer.Option(
            help="hmm: the aligner of the bundle; eflomal: learns from the text itself (pip install "
            r"'mtqe\[eflomal]')."
        ),
    ] = "hmm",
    with_corpus: Annotated[
        bool, typer.Option("--with-corpus", help="eflomal learns from the bundle's corpus, too.")
    ] = False,
    symmetrize: Annotated[
        str,
        typer.Option(
            help="grow-diag-final-and, grow-diag, intersection, union, source-target, target-source, or "
            "posterior (links probable in both directions: the most accurate on average; hmm only)."
        ),
    ] = "grow-diag-final-and",
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="The text is tokenized: split at blanks only.")
    ] = False,
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Pharaoh file to write; default: stdout.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Aligns the words of parallel text with the HMM aligner of a bundle, or with eflomal.

    Writes `i-j` links (source and target token, from 0), one line out per line in; empty lines give
    empty lines. Without --tokenized, positions count the tokens of the bundle's own tokenizers.

    eflomal keeps no model: it learns from the text it aligns, which should be large, or small beside
    the corpus of a bundle (--with-corpus). It seeds itself: its links differ a little from run to run.

    Example:

        qe align --resources en-es.bundle --source news.en --target news.es --output news.links

        qe align --aligner eflomal --tokenized --source train.en --target train.es --output train.links
    """
    from features.resources.aligner import check_symmetrization
    from features.storage.outputs import check_output
    from features.text.corpus import read_pairs

    method = check_symmetrization(symmetrize)
    check_choice(aligner, resources, with_corpus, tokenized)
    if output is not None:
        check_output(output, [source, target, *([resources] if resources else [])])
    pairs = read_pairs(source, target)
    with progress_bar(quiet) as progress:
        if aligner == "eflomal":
            lines = eflomal_lines(pairs, resources, with_corpus, tokenized, method, progress)
        else:
            lines = hmm_lines(pairs, cast(Path, resources), tokenized, method, progress)
        write_lines(lines, output)


def check_choice(aligner: str, resources: Path | None, with_corpus: bool, tokenized: bool) -> None:
    """Raises InputError for options that do not go together."""
    from features.basics.errors import InputError, unknown_name

    if aligner not in ("hmm", "eflomal"):
        raise unknown_name("aligner", aligner, ("hmm", "eflomal"), location="--aligner")
    if with_corpus and aligner != "eflomal":
        raise InputError("--with-corpus is eflomal's", remedy="add --aligner eflomal")
    if resources is None and (aligner == "hmm" or with_corpus):
        what = "--with-corpus" if with_corpus else "the aligner hmm"
        raise InputError(f"{what} needs a bundle", remedy="add --resources DIR")
    if resources is None and not tokenized:
        raise InputError(
            "how the text is to be tokenized is not said", remedy="add --tokenized, or --resources DIR"
        )


def hmm_lines(
    pairs: "Pairs", resources: Path, tokenized: bool, method: "Symmetrization", progress: "Progress"
) -> Iterator[str]:
    """Pharaoh lines by the aligner of a bundle."""
    from features.core.bundle import Bundle
    from features.resources.aligner import Aligner, align_lines

    bundle = Bundle(resources)
    aligner = cast(Aligner, bundle.part("aligner"))
    return align_lines(aligner, pairs, tokenizers_of(bundle, tokenized), method, progress=progress)


def eflomal_lines(
    pairs: "Pairs",
    resources: Path | None,
    with_corpus: bool,
    tokenized: bool,
    method: "Symmetrization",
    progress: "Progress",
) -> Iterator[str]:
    """Pharaoh lines by eflomal."""
    from features.core.bundle import Bundle
    from features.text.eflomal import align_lines
    from qe.resources.corpora import corpus_of

    bundle = None if resources is None else Bundle(resources)
    corpus = corpus_of(bundle) if bundle is not None and with_corpus else None
    return align_lines(pairs, tokenizers_of(bundle, tokenized), method, corpus=corpus, progress=progress)


def tokenizers_of(bundle: "Bundle | None", tokenized: bool) -> "tuple[Tokenizer, Tokenizer]":
    """The tokenizers of the bundle, or ones that split at whitespace only."""
    from features.text.tokenizer import Tokenizer

    if bundle is None or tokenized:
        return (Tokenizer(kind="whitespace", normalise=False),) * 2
    return bundle.tokenizers


def write_lines(lines: Iterable[str], output: Path | None) -> None:
    """To stdout, or to a file that is only there once it is complete."""
    from features.storage.files import atomic_file

    ended = (line + "\n" for line in lines)
    if output is None:
        sys.stdout.writelines(ended)
        return
    with atomic_file(output) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(ended)
