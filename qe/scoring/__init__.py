"""New translations: rows in, scores out."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.scoring.check import Check as Check
    from qe.scoring.check import Pair as Pair
    from qe.scoring.filter_files import Filtered as Filtered
    from qe.scoring.flags import Flags as Flags
    from qe.scoring.jobs import score_file as score_file
    from qe.scoring.scored_file import ScoredFile as ScoredFile
    from qe.scoring.scorer import Options as Options
    from qe.scoring.scorer import Scorer as Scorer

__getattr__, __dir__ = exports(__name__, "qe.scoring.check.CHECKS")
