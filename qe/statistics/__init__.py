"""Numbers without files: metrics of predictions, tests, intervals, corrections."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.statistics.bayesian import BayesianComparison as BayesianComparison
    from qe.statistics.bayesian import Posterior as Posterior
    from qe.statistics.bayesian import bayesian_comparisons as bayesian_comparisons
    from qe.statistics.bayesian import correlated_t as correlated_t
    from qe.statistics.bayesian import signed_rank as signed_rank
    from qe.statistics.buckets import BucketReport as BucketReport
    from qe.statistics.buckets import Buckets as Buckets
    from qe.statistics.buckets import compare_in_buckets as compare_in_buckets
    from qe.statistics.family import Equivalence as Equivalence
    from qe.statistics.family import Pair as Pair
    from qe.statistics.family import correct as correct
    from qe.statistics.family import experimentwise_error as experimentwise_error
    from qe.statistics.intervals import bca_interval as bca_interval
    from qe.statistics.intervals import jackknife_interval as jackknife_interval
    from qe.statistics.intervals import percentile_interval as percentile_interval
    from qe.statistics.intervals import williams_test as williams_test
    from qe.statistics.intervals import zou_interval as zou_interval
    from qe.statistics.metric import AdditiveMetric as AdditiveMetric
    from qe.statistics.metric import ExchangedMetric as ExchangedMetric
    from qe.statistics.metric import Metric as Metric
    from qe.statistics.metric import RankedMetric as RankedMetric
    from qe.statistics.metric import scorer as scorer
    from qe.statistics.ranks import RankInterval as RankInterval
    from qe.statistics.ranks import rank_intervals as rank_intervals
    from qe.statistics.ranks import tost as tost
    from qe.statistics.resampling import bootstrap_test as bootstrap_test
    from qe.statistics.resampling import randomization_test as randomization_test
    from qe.statistics.resampling import tukey_hsd as tukey_hsd
    from qe.statistics.result import TestResult as TestResult
    from qe.statistics.settings import PowerSettings as PowerSettings
    from qe.statistics.settings import ResamplingSettings as ResamplingSettings
    from qe.statistics.settings import SignificanceSettings as SignificanceSettings

__getattr__, __dir__ = exports(__name__, "qe.statistics.metric.METRICS")
