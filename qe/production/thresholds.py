"""Thresholds of triage, as `qe triage --json` writes them: which segment is published, which retranslated."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, FiniteFloat

from features.core.errors import InputError
from qe.config.schema import validated
from qe.data.dataset import LabelScale
from qe.production.triage import Action, action


class _File(BaseModel):
    """What is read of the file; the figures beside it say what the thresholds do."""

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
            raise InputError(f"cannot be read: {error}", where=path) from None
        if not isinstance(content, dict):
            raise InputError("holds no thresholds", where=path, remedy="give what `qe triage --json` prints")
        file = validated(_File, content, path)
        publish, retranslate, sign = file.publish, file.retranslate, scale.sign
        if publish is not None and retranslate is not None and sign * publish < sign * retranslate:
            raise InputError(
                f"publishes from {publish:g} on, but retranslates what is worse than {retranslate:g}",
                where=path,
            )
        return cls(publish, retranslate, scale)

    def action(self, prediction: float) -> Action:
        """What to do with a segment of that score."""
        return action(prediction, self.publish, self.retranslate, self.scale.sign)
