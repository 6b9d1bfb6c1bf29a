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
    in_notebook = any(base.__module__ == "tqdm.notebook" for base in tqdm.__mro__)

    def show(stage: str, count: int, total: int | None) -> None:
        key = stage.partition(" · best ")[0]
        if key not in bars:
            bars[key] = tqdm(desc=stage, total=total, leave=in_notebook)
        bar = bars[key]
        bar.total = total
        bar.set_description(stage, refresh=False)
        bar.update(count - bar.n)
        if count == total:
            bar.leave = True
            bars.pop(key).close()

    return show
