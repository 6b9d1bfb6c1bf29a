"""New translations: rows in, scores out."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.scoring.checks import Check as Check
    from qe.scoring.checks import Copy as Copy
    from qe.scoring.checks import Flags as Flags
    from qe.scoring.checks import Invented as Invented
    from qe.scoring.checks import Language as Language
    from qe.scoring.checks import Length as Length
    from qe.scoring.checks import Names as Names
    from qe.scoring.checks import Negation as Negation
    from qe.scoring.checks import Numbers as Numbers
    from qe.scoring.checks import Pair as Pair
    from qe.scoring.checks import Ratio as Ratio
    from qe.scoring.checks import Untranslated as Untranslated
    from qe.scoring.filtering import Filtered as Filtered
    from qe.scoring.job_summary import ScoredFile as ScoredFile
    from qe.scoring.jobs import score_file as score_file
    from qe.scoring.scorer import Options as Options
    from qe.scoring.scorer import Scorer as Scorer

__getattr__, __dir__ = exports(__name__)
