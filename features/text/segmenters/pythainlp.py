"""PyThaiNLP: words of Thai."""

from features.text.tokenizer import Segmenter


class Pythainlp(Segmenter):
    """PyThaiNLP's dictionary matching (`newmm`), which needs no download."""

    package = "pythainlp"
    languages = ("th",)

    def words(self, text: str) -> list[str]:
        from pythainlp.tokenize import word_tokenize

        return [word for word in word_tokenize(text, engine="newmm") if word.strip()]
