"""Human judgements: rankings of systems, correlations of metrics, post-editing effort."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe_human.effort.report import EffortReport as EffortReport
    from qe_human.human import Correlation as Correlation
    from qe_human.human import Human as Human
    from qe_human.judgements.collection import Collection as Collection
    from qe_human.judgements.ranking_report import RankingReport as RankingReport
    from qe_human.judgements.ranking_report import ranking_report as ranking_report
    from qe_human.judgements.reading import read_judgements as read_judgements
    from qe_human.metric_evaluation.reading import Evaluation as Evaluation
    from qe_human.metric_evaluation.report import MetaReport as MetaReport
    from qe_human.metric_evaluation.report import meta_report as meta_report
    from qe_human.ranking_method import Ranking as Ranking
    from qe_human.ranking_method import RankingMethod as RankingMethod
    from qe_human.settings import CorrelationSettings as CorrelationSettings
    from qe_human.settings import RankSettings as RankSettings
    from qe_human.terrorcat import TerrorCat as TerrorCat

__getattr__, __dir__ = exports(__name__, "qe_human.ranking_method.RANKINGS", "qe_human.human.CORRELATIONS")
