"""Words that negate, by language."""

from collections.abc import Mapping

# Regular expressions over lower-cased text between word boundaries.
NEGATORS: Mapping[str, str] = {
    "de": r"nicht|nichts|nie|niemals|niemand\w*|kein\w*|weder|ohne|nirgend\w*|nein|keinesfalls|keineswegs",
    "en": r"not|no|never|cannot|nobody|nothing|none|neither|nor|nowhere|without|\w+n['’]t",
    "es": r"no|nunca|jamás|nadie|nada|ningun[oa]s?|ningún|ni|tampoco|sin",
    "ro": r"nu|n|niciodată|nimeni|nimic|nici|niciun|nicio|niciunul|niciuna|fără|ba",
}
