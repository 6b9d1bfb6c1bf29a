"""Labels from post-edits: HTER and class error rates."""

from features.core.ter import ter
from features.core.tokens import FloatArray, Tokens


def hter(target: Tokens, post_edit: Tokens) -> FloatArray:
    """(n,) edits that turn each translation into its post-edit, per post-edit word; lower is better.

    Not cut off at 1 (0.25 is 25 %). Case does not count, as in tercom's default. NaN for an empty post-edit.

    Source: Snover et al. 2006, "A Study of Translation Edit Rate with Targeted Human Annotation", 4.
    """
    return ter(target.lower(), post_edit.lower()).rates
