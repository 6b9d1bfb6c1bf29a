"""A treebank of entities of one side of a parallel corpus. It comes from an annotator of the other side's
language.
"""

from pathlib import Path

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.resources.aligner import Aligner
from features.text.annotation import NOTHING, layer_tokens
from features.text.corpus import ParallelCorpus, Side
from features.text.links import Links
from features.text.tokens import Tokens
from qe.language.programs.taggers import Tagger, annotated, for_corpora
from qe_treebanks.projection import Projected, write_projected


def project_entities(
    corpus: ParallelCorpus,
    aligner: Aligner,
    annotator: Tagger,
    language: str,
    path: Path,
    pairs: int,
    held_out_path: Path | None = None,
    progress: Progress = silent,
) -> Projected:
    """Write one side of the corpus with the entities of their translations. It is the side that is not in
    `language`.

    by        an annotator of entities of `language`
    pairs     how many pairs of the corpus, from its beginning
    held_out  a file for every 25th sentence (`write_projected`)

    Links are those of the intersection of the aligner's two directions, which err least. Raises InputError
    for a language that neither side has, and for an annotator that says nothing of entities.
    """
    side = _side(corpus, language)
    corpus = corpus.take(np.arange(min(pairs, len(corpus))))
    tags = _tags(corpus.side(side), annotator, progress)
    links = aligner.align(corpus.source, corpus.target, "intersection", progress=progress)
    if side == "target":
        return write_projected(path, corpus.source, tags, links, held_out_path)
    return write_projected(
        path, corpus.target, tags, Links(links.offsets, links.target, links.source), held_out_path
    )


def _side(corpus: ParallelCorpus, language: str) -> Side:
    source, target = corpus.source_tokenizer.language, corpus.target_tokenizer.language
    if language not in (source, target):
        raise InputError(
            f"the annotator is of '{language}', but the corpus of '{source}' and '{target}'",
            remedy="give an annotator of one of the two languages",
        )
    return "source" if language == source else "target"


def _tags(tokens: Tokens, annotator: Tagger, progress: Progress) -> Tokens:
    blocks = annotated(tokens, for_corpora(annotator, ("entity",)), None, progress=progress)
    tags = layer_tokens(blocks, tokens, "entity", "what the annotator says")
    if NOTHING in tags.types:
        raise InputError("the annotator says nothing of entities", remedy="train one: --task entities")
    return tags
