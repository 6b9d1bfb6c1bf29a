"""Taggers, parsers and entity taggers trained from treebanks."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe_treebanks.annotator_folder import Annotator as Annotator
    from qe_treebanks.annotator_folder import AnnotatorFolder as AnnotatorFolder

__getattr__, __dir__ = exports(__name__, "qe_treebanks.annotator_folder.ANNOTATORS")
