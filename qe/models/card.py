"""The model card, README.md in its folder: training data, quality, requirements."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from features.basics.packages import DISTRIBUTION, version
from qe.models.model import Model
from qe.models.model_table import model_table
from qe.models.robustness import Robustness
from qe.models.robustness_table import destruction_note

FILE: Final = "README.md"


@dataclass(frozen=True, eq=False)
class Card:
    """A model, with how it scored perturbed translations if that was measured."""

    model: Model
    robustness: Robustness | None = None

    def save(self, folder: Path) -> None:
        """Writes the card into the model's folder."""
        (folder / FILE).write_text(self.text(), "utf-8")

    def text(self) -> str:
        """Markdown."""
        model = self.model
        lines = [
            f"# {model.name}",
            f"Predicts {model.scale.name} of translations. Made by {DISTRIBUTION} {version()}.",
            model_table(model).markdown().strip(),
        ]
        if model.guard is not None:
            lines.append("Rows unlike the training translations are marked, and lose score.")
        if self.robustness is not None and self.robustness.with_effect("destroying"):
            lines.append(f"Perturbed translations: {destruction_note(self.robustness)}.")
        lines.append("    qe score --model THIS_FOLDER --input FILE --output scores.tsv")
        return "\n\n".join(lines) + "\n"
