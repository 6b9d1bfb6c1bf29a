"""MT systems: comparison and documents."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.systems.comparison import compare as compare
    from qe.systems.documents import DocumentReport as DocumentReport
    from qe.systems.documents import evaluate_documents as evaluate_documents
    from qe.systems.results import Instability as Instability
    from qe.systems.results import System as System
    from qe.systems.results import SystemsComparison as SystemsComparison
    from qe.systems.results import SystemScore as SystemScore
    from qe.systems.text_metric import TextMetric as TextMetric
    from qe.systems.texts import Texts as Texts

__getattr__, __dir__ = exports(__name__, "qe.systems.text_metric.MT_METRICS")
