"""TerrorCat: compares translations in pairs by error classes, trained on human rankings."""
