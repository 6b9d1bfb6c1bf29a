"""Thresholds of triage, from `qe triage --json` or a cost table.

They say what is published and what is retranslated.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, FiniteFloat

from features.basics.errors import InputError
from qe.config.schema import validated
from qe.data.dataset import LabelScale
from qe.display.numbers import number
from qe.models.training_rows import HeldOutPredictions
from qe.production.triage import Action, action, cheapest, read_costs


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    publish: FiniteFloat | None
    retranslate: FiniteFloat | None


@dataclass(frozen=True)
class Thresholds:
    """publish, retranslate  labels, as in `Triage`; None: none is published, or retranslated."""

    publish: float | None
    retranslate: float | None
    scale: LabelScale

    @classmethod
    def read(cls, path: Path, scale: LabelScale) -> Self:
        """Raises InputError for a file without thresholds, and for thresholds in the wrong order."""
        try:
            content = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"cannot be read: {error}", location=path) from None
        if not isinstance(content, dict):
            raise InputError(
                "holds no thresholds", location=path, remedy="give what `qe triage --json` prints"
            )
        file = validated(_File, content, path)
        publish, retranslate, sign = file.publish, file.retranslate, scale.sign
        if publish is not None and retranslate is not None and sign * publish < sign * retranslate:
            raise InputError(
                f"publishes from {publish:g} on, but retranslates what is worse than {retranslate:g}",
                location=path,
            )
        return cls(publish, retranslate, scale)

    @classmethod
    def given(cls, path: Path, model: Path, scale: LabelScale) -> Self:
        """Thresholds from a file (.json), or the cheapest ones by a cost table (YAML).

        The latter are found on what the model predicted of labelled rows that it had not seen. Raises
        InputError as `read`, `read_costs` and `HeldOutPredictions.load` do.
        """
        if path.suffix.lower() == ".json":
            return cls.read(path, scale)
        costs = read_costs(path)
        known = HeldOutPredictions.load(model)
        return cls(*cheapest(known.gold, known.predicted, costs, scale), scale)

    def rules(self) -> dict[Action, str]:
        """What is done with which scores, in words."""
        return rules(self.publish, self.retranslate, self.scale.higher_is_better, "score")

    def action(self, prediction: float, outside: bool = False) -> Action:
        """What to do with a segment of that score; one outside the training data is not published."""
        chosen = action(prediction, self.publish, self.retranslate, self.scale.sign)
        return "post-edit" if outside and chosen == "publish" else chosen


def rules(
    publish: float | None, retranslate: float | None, higher_is_better: bool, what: str
) -> dict[Action, str]:
    """What is done with which segments, in words.

    publish, retranslate  the thresholds; None: never
    what                  what has a threshold: a score, a prediction

    >>> rules(2.5, None, False, "score")["publish"]
    'score at most 2.500'
    """
    better, worse = ("at least", "below") if higher_is_better else ("at most", "above")
    return {
        "publish": "never" if publish is None else f"{what} {better} {number(publish)}",
        "post-edit": "the rest",
        "retranslate": "never" if retranslate is None else f"{what} {worse} {number(retranslate)}",
    }
