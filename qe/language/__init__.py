"""Annotate and translate text: annotators trained here, programs outside."""

from typing import TYPE_CHECKING

from features.basics.doors import door

if TYPE_CHECKING:
    from qe.language.annotator import Annotator as Annotator
    from qe.language.annotator_folder import AnnotatorFolder as AnnotatorFolder

__getattr__, __dir__ = door(__name__, "qe.language.annotator.ANNOTATORS")
