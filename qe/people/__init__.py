"""What people judged: rankings, correlations, post-editing effort."""

from typing import TYPE_CHECKING

from features.basics.doors import door

if TYPE_CHECKING:
    from qe.people.correlation import Correlation as Correlation
    from qe.people.effort.report import EffortReport as EffortReport
    from qe.people.human import Human as Human
    from qe.people.judgements.collection import Collection as Collection
    from qe.people.judgements.ranking_report import RankingReport as RankingReport
    from qe.people.judgements.ranking_report import RankSettings as RankSettings
    from qe.people.judgements.ranking_report import ranking_report as ranking_report
    from qe.people.judgements.reading import read_judgements as read_judgements
    from qe.people.metric_evaluation.report import MetaReport as MetaReport
    from qe.people.metric_evaluation.report import meta_report as meta_report
    from qe.people.metric_evaluation.scores import Evaluation as Evaluation
    from qe.people.metric_evaluation.scores import ScoreTable as ScoreTable
    from qe.people.ranking_method import Ranking as Ranking
    from qe.people.ranking_method import RankingMethod as RankingMethod
    from qe.people.terrorcat.model import TerrorCat as TerrorCat

__getattr__, __dir__ = door(
    __name__, "qe.people.ranking_method.RANKINGS", "qe.people.correlation.CORRELATIONS"
)
