"""Programs that split texts without blanks into words; each needs its package."""

NAMES = {"programs": ("jieba", "pythainlp", "sudachi")}
