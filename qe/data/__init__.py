"""Datasets: formats, labels, splits, checks, files of scores."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.data.buckets import by_length as by_length
    from qe.data.buckets import by_quality as by_quality
    from qe.data.buckets import by_rare_words as by_rare_words
    from qe.data.check import DataReport as DataReport
    from qe.data.dataset import Dataset as Dataset
    from qe.data.dataset import LabelScale as LabelScale
    from qe.data.dataset import Split as Split
    from qe.data.folds import make_folds as make_folds
    from qe.data.format import Format as Format
    from qe.data.judges import JudgedLabels as JudgedLabels
    from qe.data.judges import judged_labels as judged_labels
    from qe.data.judges import krippendorff_alpha as krippendorff_alpha
    from qe.data.judges import weighted_kappa as weighted_kappa
    from qe.data.labels import PostEditLabels as PostEditLabels
    from qe.data.labels import from_post_edits as from_post_edits
    from qe.data.labels import hter as hter
    from qe.data.public import PublicDataset as PublicDataset
    from qe.data.score_files import ScoreFile as ScoreFile
    from qe.data.score_files import Submission as Submission
    from qe.data.score_files import read_scores as read_scores
    from qe.data.score_files import read_submission as read_submission
    from qe.data.score_files import write_submission as write_submission
    from qe.data.score_tables import ScoreTable as ScoreTable
    from qe.data.tag_files import TagFile as TagFile
    from qe.data.tag_files import read_tags as read_tags

__getattr__, __dir__ = exports(__name__, "qe.data.format.FORMATS")
