"""Labels from post-edits: HTER and class error rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from features.basics.array_types import FloatArray
from features.basics.numerals import refuse_long
from features.basics.progress import Progress, silent
from features.edits.class_errors import CLASSES, SUMS, ClassErrors, class_errors, rate_sums, reordering_alone
from features.edits.ter import TerEdits, ter
from features.text.stems import base_form_tokens, has_base_forms
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe.display.summary import Printable

RATES = ("infer", "rer", "miser", "exter", "lexer")
_BATCH = 1000  # segments labelled at a time


def hter(target: Tokens, post_edit: Tokens) -> FloatArray:
    """(n,) HTER: edits from translation to post-edit, per post-edit word; lower is better.

    Not cut off at 1. Case does not count, as in tercom's default. NaN for an empty post-edit. Source: Snover
    et al. 2006, "A Study of Translation Edit Rate with Targeted Human Annotation", 4.
    """
    return ter(target.lower(), post_edit.lower()).rates


@dataclass(frozen=True, eq=False)
class PostEditLabels(Printable):
    """Edits from n translations to their post-edits, and the class of every wrong word.

    Classes but reordering need base forms: without them (`has_classes` is False) they are NaN.
    """

    edits: TerEdits
    errors: ClassErrors
    has_classes: bool = True

    @classmethod
    def concatenate(cls, batches: Sequence["PostEditLabels"]) -> "PostEditLabels":
        def joined(part: str, name: str) -> np.ndarray[Any, Any]:
            return np.concatenate([getattr(getattr(batch, part), name) for batch in batches])

        edits = {entry.name: joined("edits", entry.name) for entry in fields(TerEdits)}
        sides = []
        for side in ("hypothesis", "reference"):
            offsets = np.append(0, np.cumsum(joined("errors", f"{side}_lengths")))
            sides += [joined("errors", side), offsets]
        return cls(TerEdits(**edits), ClassErrors(*sides), all(batch.has_classes for batch in batches))

    def counts(self, blocks: bool = False) -> np.ndarray[Any, np.dtype[np.int64]]:
        """(n, 5) errors by class: extra words in the translation, the other classes in the post-edit."""
        side = self.errors.blocks if blocks else self.errors.counts
        counts = side("reference")
        extra = CLASSES.index("extra")
        counts[:, extra] = side("hypothesis")[:, extra]
        return counts

    def table(self, ids: Sequence[str]) -> pd.DataFrame:
        """One row per segment: HTER and its edits, lengths, counts, blocks, rates (0.1 is 10 %), sums."""
        words, blocks, rates = self._by_class()
        columns: dict[str, Any] = {
            "id": list(ids),
            "hter": self.edits.rates,
            "edits": self.edits.edits,
            "target_words": self.errors.hypothesis_lengths,
            "post_edit_words": self.errors.reference_lengths,
        }
        rate_names = [*RATES, *(f"b{name}" for name in RATES)]
        for names, values in (
            (CLASSES, words),
            ([f"{name}_blocks" for name in CLASSES], blocks),
            (rate_names, rates),
            (SUMS, rate_sums(rates)),
        ):
            columns |= zip(names, values.T, strict=True)
        return pd.DataFrame(columns)

    def _by_class(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], FloatArray]:
        words, blocks, rates = self.counts(), self.counts(blocks=True), self.errors.rates()
        if self.has_classes:
            return words, blocks, rates
        return reordering_alone(words), reordering_alone(blocks), reordering_alone(rates)

    def corpus(self) -> dict[str, Any]:
        """All segments together, as JSON values.

        counts, blocks  by class: `extra` in the translation, the others in the post-edit
        rates           by class: `missing` per post-edit word; the others per word of the translation
        hter            all edits by all words of the post-edits
        """
        counts, blocks, _ = self._by_class()
        rates = self.errors.corpus_rates()
        rates = rates if self.has_classes else reordering_alone(rates)
        words = int(self.edits.reference_lengths.sum())
        edits = int(self.edits.edits.sum())
        return {
            "counts": _numbers(CLASSES, counts.sum(axis=0)),
            "rates": _numbers(CLASSES, rates[:5]),
            "blocks": _numbers(CLASSES, blocks.sum(axis=0)),
            "block_rates": _numbers(CLASSES, rates[5:]),
            "sums": _numbers(SUMS, rate_sums(rates[None])[0]),
            "hter": edits / words if words else None,
            "edits": edits,
            "segments": len(self.edits.edits),
            "target_words": int(self.errors.hypothesis_lengths.sum()),
            "post_edit_words": words,
        }


def _numbers(names: Sequence[str], values: np.ndarray[Any, Any]) -> Mapping[str, float | int | None]:
    return {name: None if value != value else value.item() for name, value in zip(names, values, strict=True)}


def from_post_edits(
    target: Sequence[str], post_edit: Sequence[str], language: str, progress: Progress = silent
) -> PostEditLabels:
    """Labels of n raw translations by their post-edits, both tokenised and lower-cased here.

    Typographic characters are not normalised: replacing them counts as an edit. Raises
    InputError for texts that are too long.
    """
    refuse_long(target, "translation")
    refuse_long(post_edit, "post-edit")
    tokenizer = Tokenizer(language, normalise=False)
    has_classes = has_base_forms(language)
    parts = []
    for low in range(0, max(len(target), 1), _BATCH):
        rows = slice(low, low + _BATCH)
        left, right = (tokenizer.tokens(texts[rows]).lower() for texts in (target, post_edit))
        base = [base_form_tokens(side, language) if has_classes else side for side in (left, right)]
        errors = class_errors(left, base[0], right, base[1])
        parts.append(PostEditLabels(ter(left, right), errors, has_classes))
        progress("comparing translations and post-edits", min(low + _BATCH, len(target)), len(target))
    return PostEditLabels.concatenate(parts)
