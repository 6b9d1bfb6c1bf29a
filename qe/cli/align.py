"""`qe align`: word alignments of parallel text, one Pharaoh line per line."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, cast

import typer

from qe.cli._common import Quiet, progress_bar


def align(
    resources: Annotated[Path, typer.Option(help="Bundle with the part `aligner` (qe resources build).")],
    source: Annotated[Path, typer.Option(help="Source text, one sentence per line, plain or gzip.")],
    target: Annotated[Path, typer.Option(help="Target text, line by line its translation.")],
    symmetrize: Annotated[
        str,
        typer.Option(
            help="grow-diag-final-and, grow-diag, intersection, union, source-target, target-source, or "
            "posterior (links probable in both directions: the most accurate on average)."
        ),
    ] = "grow-diag-final-and",
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="The text is tokenized: split at blanks only.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Pharaoh file to write; default: stdout.")] = None,
    quiet: Quiet = False,
) -> None:
    """Aligns the words of parallel text with the HMM aligner of a bundle.

    Writes `i-j` links (source and target token, from 0), one line out per line in; empty lines give
    empty lines. Without --tokenized, positions count the tokens of the bundle's own tokenizers.

    Example:

        qe align --resources en-es.bundle --source news.en --target news.es --output news.links
    """
    from features.core.bundle import Bundle
    from features.core.corpus import read_pairs
    from features.core.tokenizer import Tokenizer
    from features.resources.aligner import Aligner, align_lines, check_symmetrization

    method = check_symmetrization(symmetrize)
    bundle = Bundle(resources)
    aligner = cast(Aligner, bundle.part("aligner"))
    tokenizers = bundle.tokenizers
    if tokenized:
        tokenizers = (Tokenizer(kind="whitespace", normalise=False),) * 2
    with progress_bar(quiet) as progress:
        write_lines(
            align_lines(aligner, read_pairs(source, target), tokenizers, method, progress=progress), output
        )


def write_lines(lines: Iterable[str], output: Path | None) -> None:
    """To stdout, or to a file that is only there once it is complete."""
    from features.core.files import atomic_file

    ended = (line + "\n" for line in lines)
    if output is None:
        sys.stdout.writelines(ended)
        return
    with atomic_file(output) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(ended)
