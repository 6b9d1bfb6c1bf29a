"""Annotated texts for tests, written as `form/UPOS/FEATS/head/relation` words."""

from collections.abc import Sequence

from features.core.segments import Segments
from tests.factories import ENGLISH, SPANISH


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
    columns = {"source": ["x"] * len(targets), "target": list(map(forms, targets)),
               "annotation_target": list(map(block, targets))}  # fmt: skip
    return Segments.from_columns(columns, ENGLISH, SPANISH)
