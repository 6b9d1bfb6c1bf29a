"""Translation edit rate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.edits.ter import BEAM_WIDTH, SHIFT_DISTANCE, SHIFT_SIZE, common_ids, ter_edits
from features.text.scripts import without_blanks
from features.text.tokens import Tokens, ratio
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts, Tokenization
from qe.systems.usual_tokens import usual_tokenization

SACREBLEU_CANDIDATES = 1000


@dataclass(frozen=True)
class Ter(TextMetric):
    """Edits per 100 reference words, as tercom 0.8.0.

    Edits are shifts, insertions, deletions and substitutions.

    Its statistics are the edits to the reference that needs fewest, and the mean reference length.

    NaN if the references are empty. Raises InputError for tercom's preparation of text that another
    tokenization has split, and for `asian_support` alone. With several references MultEval
    rounds their mean length down to a whole number, segment by segment, and so reports a slightly higher
    rate; here it is not rounded.

    Source: Snover et al. 2006; see features/edits/ter.py.

    Attributes
    ----------
    normalized : bool
        Tercom's normalisation: punctuation split off, XML entities read.
    no_punct : bool
        Without punctuation.
    asian_support : bool
        Both of these for Chinese, Japanese and Korean characters, too.
    shift_candidates : int
        Shifts that are looked at before no more are made: 1,000 as sacreBLEU; 0: no limit, as tercom,
        which differs in long translations of many repeated words.

    Examples
    --------
    >>> Ter().score(["c a b"], [["a b c"]])  # one shift of three words
    33.3...
    """

    title: ClassVar[str] = "TER"
    higher_is_better: ClassVar[bool | None] = False
    tokenize: Tokenization = "none"
    lowercase: bool = True
    beam_width: int = BEAM_WIDTH
    shift_distance: int = SHIFT_DISTANCE
    shift_size: int = SHIFT_SIZE
    shift_candidates: int = SACREBLEU_CANDIDATES
    language: str = "en"
    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False

    def __post_init__(self) -> None:
        if self._prepared and self.tokenize != "none":
            raise InputError(
                f"ter: normalized and no_punct do not go with tokenize={self.tokenize}",
                remedy="add tokenize=none to the options of ter",
            )
        if self.asian_support and not self._prepared:
            raise InputError(
                "ter: asian_support has no effect alone", remedy="add normalized=true or no_punct=true"
            )

    @classmethod
    def usual(cls, language: str) -> Mapping[str, Any]:
        """The usual tokenization of a language: split at blanks, as tercom.

        Chinese is split by characters as in sacreBLEU; other languages without blanks by their
        tokens.
        """
        if language == "zh":
            return {"normalized": True, "asian_support": True}
        tokenize = usual_tokenization(language) if without_blanks(language) else "none"
        return {"tokenize": tokenize, "language": language}

    @property
    def _prepared(self) -> bool:
        return self.normalized or self.no_punct

    def signature_parts(self) -> dict[str, Any]:
        tok = "tercom" if self.tokenize == "none" else super().signature_parts()["tok"]
        parts = {
            "case": "lc" if self.lowercase else "mixed", "tok": tok, "norm": self.normalized,
            "punct": not self.no_punct, "asian": self.asian_support,
        }  # fmt: skip
        search = {"beam_width": BEAM_WIDTH, "shift_distance": SHIFT_DISTANCE, "shift_size": SHIFT_SIZE,
                  "shift_candidates": SACREBLEU_CANDIDATES}  # fmt: skip
        return parts | {
            name: getattr(self, name) for name, usual in search.items() if getattr(self, name) != usual
        }

    def _tokens(self, texts: Texts) -> Tokens:
        if self._prepared:
            return texts.tercom(self.lowercase, self.normalized, self.no_punct, self.asian_support)
        return texts.tokens(self.tokenize, self.lowercase, self.language)

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [self._tokens(texts) for texts in (hypotheses, *references)]
        left, *right = common_ids(*tokens)
        edits = [
            ter_edits(
                left, tokens[0].offsets, ids, column.offsets,
                beam_width=self.beam_width, shift_distance=self.shift_distance, shift_size=self.shift_size,
                shift_candidates=self.shift_candidates,
            ).edits
            for ids, column in zip(right, tokens[1:], strict=True)
        ]  # fmt: skip
        lengths = np.mean([column.lengths for column in tokens[1:]], axis=0)
        return np.stack([np.min(edits, axis=0), lengths], axis=1).astype(np.float64)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return 100 * ratio(sums[..., 0], sums[..., 1])
