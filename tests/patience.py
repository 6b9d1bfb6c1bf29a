"""How long tests wait for other processes and threads."""

from typing import Final

# Seconds, after which it is in vain: far more than a busy machine takes.
PATIENCE: Final = 600.0
