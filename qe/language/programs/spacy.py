"""spaCy pipelines of users (`spacy:NAME`): tags, base forms, dependencies, entities."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from features.basics.errors import InputError
from features.storage.files import digest


@dataclass(frozen=True)
class SpacyTagger:
    """Runs an installed pipeline on given tokens; columns that it does not fill stay `_`."""

    model: str

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        pipeline = self._pipeline  # raises InputError early if it is not installed
        from spacy.tokens import Doc

        docs = (Doc(pipeline.vocab, words=list(text)) for text in texts)
        for doc in pipeline.pipe(docs):
            yield "\n".join(_row(word) for word in doc)

    @cached_property
    def _pipeline(self) -> Any:
        try:
            import spacy
        except ImportError:
            raise InputError("the package spacy is not installed", remedy="pip install spacy") from None
        try:
            return spacy.load(self.model)
        except OSError:
            raise InputError(
                f"spaCy has no pipeline '{self.model}' here",
                remedy=f"python -m spacy download {self.model}, or give its folder",
            ) from None

    @property
    def fingerprint(self) -> str:
        meta = self._pipeline.meta
        return digest("spacy", 1, self.model, meta.get("lang"), meta.get("name"), meta.get("version"))


def _row(word: Any) -> str:
    doc = word.doc
    head = relation = misc = "_"
    if doc.has_annotation("DEP"):
        root = word.head.i == word.i
        head, relation = ("0", "root") if root else (str(word.head.i + 1), word.dep_ or "_")
    if doc.has_annotation("ENT_IOB"):
        misc = f"NER={word.ent_iob_}-{word.ent_type_}" if word.ent_iob_ in ("B", "I") else "NER=O"
    cells = (
        str(word.i + 1), word.text, word.lemma_ or "_", word.pos_ or "_", word.tag_ or "_",
        str(word.morph) or "_", head, relation, "_", misc,
    )  # fmt: skip
    return "\t".join(cells)
