"""The one exception for a user's mistake."""


class InputError(ValueError):
    """Bad input: the broken rule, the value seen, where, and the way out, in one message.

    The command line prints the message alone and exits with code 2.

    >>> raise InputError("expected 4 columns, found 3", where="scores.tsv:17", remedy="use tabs")
    Traceback (most recent call last):
    features.core.errors.InputError: scores.tsv:17: expected 4 columns, found 3; use tabs
    """

    def __init__(self, what: str, *, where: object = None, remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        message = what if where is None else f"{where}: {what}"
        super().__init__(f"{message}; {remedy}" if remedy else message)
