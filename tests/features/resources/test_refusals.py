"""What parts of resources refuse, a row each: the place with words of the rule, and the call."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts
from features.resources.word_lexicon import StopWords
from features.text.links import Links
from tests.factories import Monkeypatch, corpus, refuses, tokens
from tests.features.resources.test_language_model import ARPA

WORDS = tokens("a b")
COUNTS = NgramCounts.from_tokens(WORDS, order=3)


def read(reader: Any, text: str) -> None:
    path = Path("file")
    path.write_text(text)
    reader(path)


def arpa(old: str, new: str) -> Any:
    assert old in ARPA
    return partial(read, LanguageModel.read_arpa, ARPA.replace(old, new))


TRIGRAMS = ARPA.replace("ngram 2=2", "ngram 2=2\nngram 3=1")
TRIGRAMS = TRIGRAMS.replace("\n\\end\\", "\n\\3-grams:\n-0.1 a a </s>\n\n\\end\\")
REFUSED = [
    ("^file: is no ARPA file", arpa("\\data\\", "data")),
    ("^file: 3 2-grams were announced", arpa("ngram 2=2", "ngram 2=3")),
    ("orders must follow", arpa("ngram 2=2", "ngram 3=2")),
    ("'b' of an n-gram is no unigram", arpa("-0.2 a </s>", "-0.2 b </s>")),
    ("'<s> a' cannot be used: it stands twice", arpa("-0.2 a </s>", "-0.2 <s> a")),
    ("bad line among the 2-grams", arpa("-0.2 a </s>", "-0.x a </s>")),
    ("^file: .*twice among the unigrams", arpa("-0.7\ta", "-0.7\t<s>")),
    ("no unigram </s>", arpa("-0.5\t</s>", "-0.5\tb")),
    (r"^file: expected \\2-grams", arpa("\\2-grams:", "\\3-grams:")),
    ("'ngram 1=1000', but found b'ngram 2=999", arpa("ngram 2=2", "ngram 2=" + "9" * 5000)),
    ("'ngram 1=1000', but found b'ngram 2:2", arpa("ngram 2=2", "ngram 2:2")),
    ("`log10` .* -100 to 1, but has -inf", arpa("-0.7\ta", "-inf\ta")),
    ("`log10` .* -100 to 1, but has -1000", arpa("-0.7\ta", "-1000\ta")),
    ("bad line among the 1-grams", arpa("-0.7\ta", "nan\ta")),
    ("`backoff` .* -30 to 30, but has 1", arpa("\t-0.25", "\t1e30")),
    ("'a a </s>' cannot be used: its context", partial(read, LanguageModel.read_arpa, TRIGRAMS)),
    ("order .* at least 1", partial(LanguageModel.from_tokens, WORDS, order=0)),
    ("^direction must", partial(LanguageModel.from_tokens, WORDS, order=2, direction="sideways")),
    ("^case must", partial(LanguageModel.from_tokens, WORDS, order=2, case="upper")),
    ("no words to learn from", partial(LanguageModel.from_tokens, tokens("", ""), order=2)),
    *((f"order {order} .*orders 1 to 3", partial(COUNTS.counts, WORDS, order)) for order in (0, 4, -1)),
    ("order .* at least 1", partial(NgramCounts.from_tokens, WORDS, order=0)),
    ("^case must", partial(NgramCounts.from_tokens, WORDS, order=1, case="upper")),
    ("frequent enough", partial(COUNTS.quartile_cutoffs, 1)),
    *(("file:2: expected two words and a probability", partial(read, Lexicon.read_lex, f"a b .1\n{line}\n"))
      for line in ("a b", "a b x", "a b 1.5", "a b c .1")),
    ("^stop_words: .*no words of letters", partial(StopWords.build, corpus([("x", ". 7 !")]), side="target")),
    ("file:2: .*'1:1'", partial(read, Links.read, "0-0\n0-0 1:1\n")),
    ("line 2: the link 0-3 points outside",
     partial(Links.from_pharaoh(["0-0", "0-3"]).check, np.array([1, 1]), np.array([1, 3]))),
]  # fmt: skip


@pytest.mark.parametrize(("location", "call"), REFUSED)
def test_refused(location: str, call: Any, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refuses(location, call)
