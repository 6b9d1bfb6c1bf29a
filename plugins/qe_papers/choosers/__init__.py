"""Methods to choose among the outputs of several MT systems."""

NAMES = {
    "linear": ("classification", "gain", "log_linear", "ranking"),
    "bleu": ("lambdamart", "regression"),
}
