"""Annotated texts for tests, written as `form/UPOS/FEATS/head/relation` words."""

from collections.abc import Iterable, Sequence

from features.core.segments import Segments
from tests.factories import EN_ES, segments


def block(text: str, comments: Sequence[str] = ()) -> str:
    """A CoNLL-U block; what is left out of a word at its end is `_`, heads count from 1, features are joined
    by `,`; `form~lemma` gives a lemma."""
    rows = [f"# {comment}" for comment in comments]
    for k, word in enumerate(text.split(), start=1):
        form, upos, feats, head, relation = (word.split("/") + ["_"] * 5)[:5]
        form, _, lemma = form.partition("~")
        cells = (str(k), form, lemma or "_", upos, "_", feats.replace(",", "|"), head, relation, "_", "_")
        rows.append("\t".join(cells))
    return "\n".join(rows)


def forms(text: str) -> str:
    return " ".join(word.split("/")[0].partition("~")[0] for word in text.split())


def translations(*targets: str) -> Segments:
    """Segments whose targets are annotated; the sources are `x`."""
    return segments("x", list(map(forms, targets)), EN_ES, annotation_target=list(map(block, targets)))


def parsed(source: str, target: str) -> Segments:
    """One segment with annotations of both sides."""
    blocks = {"annotation_source": block(source), "annotation_target": block(target)}
    return segments(forms(source), forms(target), EN_ES, **blocks)


def entity_block(tagged: Iterable[tuple[str, str]]) -> str:
    """A CoNLL-U block of words with their entity tags."""
    rows = enumerate(tagged, start=1)
    return "\n".join(f"{k}\t{word}" + "\t_" * 7 + f"\tNER={tag}" for k, (word, tag) in rows)
