"""What a model was trained on, in a sentence."""

from qe.models.description import Description


def origin(described: Description) -> str:
    """Languages, rows, data, label and date, as far as the model says them."""
    about, scale = described.about, described.scale
    languages = "-".join(tokenizer.language for tokenizer in described.tokenizers)
    data = about.get("data") or {}
    rows = (data.get("splits") or {}).get("train")
    counted = "" if rows is None else f"{rows:,} "
    of = f" of {data['name']}" if data.get("name") else ""
    ends = "" if scale.low is None or scale.high is None else f" from {scale.low:g} to {scale.high:g}"
    day = f" on {about['trained']}" if about.get("trained") else ""
    return f"Trained{day} on {counted}{languages} rows{of}, with labels of {scale.name}{ends}."
