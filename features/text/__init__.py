"""Text: tokens, vocabularies, tokenizers, languages, lemmas, corpora, word links."""
