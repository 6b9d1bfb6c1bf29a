"""Feature extractors: each public module is one, named in experiments by its file name."""

from typing import TYPE_CHECKING

from features.basics.exports import exports
from features.storage.surroundings import keep_out

if TYPE_CHECKING:
    from features.core.bundle import Bundle as Bundle
    from features.core.extractor import Extractor as Extractor
    from features.core.extractor import Feature as Feature
    from features.core.extractor import FittedExtractor as FittedExtractor
    from features.core.feature_set import FeatureSet as FeatureSet
    from features.core.resource import Resource as Resource
    from features.core.segments import Segments as Segments
    from features.text.corpus import ParallelCorpus as ParallelCorpus
    from features.text.tokenizer import Tokenizer as Tokenizer

# Modules that hold several families: module -> names.
NAMES: dict[str, tuple[str, ...]] = {
    "ngram_frequency": ("ngram_frequency", "corpus_precision"),
    "second_translation": ("pseudo_reference", "back_translation", "error_classes"),
}

keep_out()  # before anything imports Numba

__getattr__, __dir__ = exports(__name__)
