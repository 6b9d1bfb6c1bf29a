"""Names of entity types by annotator, and the types that are counted."""

from collections.abc import Mapping
from typing import Final

# Annotators' names of types -> the types that are counted; any other is `OTHER`.
NAMES: Final[Mapping[str, str]] = {
    "PER": "person", "PERS": "person", "PERSON": "person", "ORG": "organisation", "LOC": "location",
    "GPE": "location", "FAC": "location",
}  # fmt: skip
# The same with what is no name: Mehdad et al. 2012 (adequacy, WMT12), section 3.1.
EXPRESSIONS: Final[Mapping[str, str]] = {
    **NAMES, "DATE": "date", "TIME": "date", "NUM": "number", "NUMBER": "number", "CARDINAL": "number",
    "ORDINAL": "number", "QUANTITY": "number", "PERCENT": "number", "MONEY": "number",
}  # fmt: skip
OTHER: Final = "other"
