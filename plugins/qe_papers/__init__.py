"""Extractors, resources, learners and selectors of the papers; selection among MT systems."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe_papers.selection.chooser import Chooser as Chooser
    from qe_papers.selection.selection import Selection as Selection
    from qe_papers.selection.selection import Translations as Translations

__getattr__, __dir__ = exports(__name__, "qe_papers.selection.chooser.CHOOSERS")
