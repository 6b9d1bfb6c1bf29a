"""Parts of a bundle built from a part of its corpus, kept while the rest is tried on them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from features.basics.progress import Progress, silent
from features.core import bundle
from features.core.resource import Resource
from features.text.corpus import ParallelCorpus


@contextmanager
def reduced(
    corpus: ParallelCorpus,
    names: Sequence[str],
    whole_corpus_resources: Mapping[str, Resource],
    scratch: Path | None,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """Name -> the part, built from this corpus in a temporary folder in `scratch` (None: TMPDIR).

    whole_corpus_resources  parts that are not built but taken from the whole corpus
    """
    with TemporaryDirectory(prefix="qe-held-out-", dir=scratch) as folder:
        made = bundle.build(
            lambda: corpus,
            Path(folder) / "bundle",
            names,
            progress=progress,
            builders={name: _reused(resource) for name, resource in whole_corpus_resources.items()},
        )
        yield {name: made.part(name) for name in names}


def _reused(resource: Resource) -> Callable[..., Resource]:
    def make(corpus: ParallelCorpus, progress: Progress = silent, **settings: Any) -> Resource:
        return resource

    return make
