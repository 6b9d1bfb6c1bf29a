"""TerrorCat: translations compared in pairs by their error classes, trained on human rankings."""
