"""Progress bars for notebooks and terminals."""

from features.basics.errors import InputError
from features.basics.progress import Progress


def progress_bars() -> Progress:
    """Returns a `progress` that draws a bar for every stage: widgets in a notebook, else text.

    Returns
    -------
    callable
        For the parameter `progress` of `qe.train`, `qe.evaluate`, `qe.train_without_labels`.

    Raises
    ------
    qe.InputError
        If tqdm is not installed (it comes with `mtqe[train]`).

    Examples
    --------
    >>> from qe import progress_bars
    >>> progress = progress_bars()
    >>> for done in range(3):
    ...     progress("work", done + 1, 3)
    """
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise InputError("progress bars need tqdm", remedy="pip install 'mtqe[train]'") from error
    bars: dict[str, tqdm] = {}

    def show(stage: str, count: int, total: int | None) -> None:
        if stage not in bars:
            bars[stage] = tqdm(desc=stage, total=total)
        bar = bars[stage]
        bar.total = total
        bar.update(count - bar.n)
        if count == total:
            bars.pop(stage).close()

    return show
