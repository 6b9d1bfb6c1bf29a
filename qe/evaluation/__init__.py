"""Predictions against labels: metrics with intervals, comparisons, leaderboards, plots."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.evaluation.coverage import Coverage as Coverage
    from qe.evaluation.evaluate import Report as Report
    from qe.evaluation.evaluate import SystemScores as SystemScores
    from qe.evaluation.leaderboard import Leaderboard as Leaderboard
    from qe.evaluation.official_scorer import OfficialScores as OfficialScores
    from qe.evaluation.official_scorer import official_scores as official_scores
    from qe.evaluation.oracles import Oracle as Oracle
    from qe.evaluation.oracles import PostEdited as PostEdited
    from qe.evaluation.oracles import oracle as oracle
    from qe.evaluation.power import PowerReport as PowerReport
    from qe.evaluation.word_level import WordReport as WordReport
    from qe.evaluation.word_level import evaluate_words as evaluate_words

__getattr__, __dir__ = exports(__name__)
