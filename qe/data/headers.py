"""Common headers of tables and the roles of their columns."""

from collections.abc import Collection, Mapping, Sequence

from features.basics.errors import InputError
from qe.data.directions import HIGHER, LOWER, key_of

UNSTATED = ("score", "scores", "mean", "label", "gold", "rating", "quality", "effort", "adequacy", "mqm")
HEADERS: Mapping[str, Sequence[str]] = {
    "source": ("source", "src", "original", "source_text", "source_segment", "source_sentence"),
    "target": (
        *("target", "tgt", "translation", "mt", "hypothesis", "hyp", "mt_output", "machine_translation"),
        *("target_text", "target_segment", "target_sentence"),
    ),
    "scores": (*HIGHER, *LOWER, *UNSTATED),
    "post_edit": ("post_edit", "post_edited", "postedit", "postedited", "pe"),
    "reference": ("reference", "ref"),
    "id": ("id", "segment_id", "seg_id", "sent_id"),
    "doc_id": ("doc_id", "document_id", "document", "doc"),
}


def known_headers(role: str, headers: Sequence[str], assigned: Collection[str] = ()) -> list[str]:
    """The headers that are common for a role, without those that have another role already.

    >>> known_headers("target", ["SRC", "MT", "score"])
    ['MT']
    """
    return [each for each in headers if key_of(each) in HEADERS.get(role, ()) and each not in assigned]


def header_of(
    role: str,
    headers: Sequence[str],
    location: object,
    *,
    assigned: Collection[str] = (),
    option: str = "--columns",
) -> str:
    """The header of a role; empty if there is none. Raises InputError if there are several."""
    candidates = known_headers(role, headers, assigned)
    if len(candidates) > 1:
        none = "" if role in ("source", "target") else f", or {option} {role}= for none"
        raise InputError(
            f"several columns could be the {role}: {', '.join(candidates)}",
            location=location,
            remedy=f"choose one: {option} {role}={candidates[0]}{none}",
        )
    return candidates[0] if candidates else ""
