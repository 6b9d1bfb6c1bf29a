"""Scores of documents: means of the scores of their segments.

Labels and predictions are treated alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from features.basics.errors import InputError
from qe.data.score_files import ScoreFile
from qe.systems.documents import document_means, document_names


def by_document(
    gold: ScoreFile, files: Mapping[str, ScoreFile], documents: Sequence[str], location: Path
) -> tuple[ScoreFile, dict[str, ScoreFile]]:
    """Labels and predictions (n,) of segments -> those of documents (d,).

    Documents are in order of first appearance.

    documents  (n,) the document of each segment
    location      the file that they are from, for messages

    Labels may be of documents already, such as BLEU of each. Classes become the share of the better one.
    Raises InputError for another number of documents than segments, fewer than two documents, and ranks.
    """
    names = document_names(documents)
    if len(names) < 2:
        raise InputError(f"names {len(names)} document, but at least 2 are evaluated", location=location)
    whole = len(gold.scores) == len(names)
    return (
        gold if whole else _means(gold, documents, location),
        {name: _means(file, documents, location) for name, file in files.items()},
    )


def _means(file: ScoreFile, documents: Sequence[str], location: Path) -> ScoreFile:
    if file.ranks_only:
        raise InputError("holds ranks only, and ranks have no mean in a document", location=file.path)
    if len(file.scores) != len(documents):
        raise InputError(
            f"names the documents of {len(documents)} segments, but {file.path} has {len(file.scores)}",
            location=location,
            remedy="give one line for each segment, in the same order",
        )
    means = document_means(file.scores, documents)
    return replace(file, scores=means, submitted=None, ids=None, classes=None)
