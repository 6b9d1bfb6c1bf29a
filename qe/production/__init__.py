"""What runs after training: promotion, serving, decisions."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.production.promotion import Decision as Decision
    from qe.production.promotion import promote as promote
    from qe.production.risk import RiskControl as RiskControl
    from qe.production.serving import Renewal as Renewal
    from qe.production.serving import serve as serve
    from qe.production.suggestion import Suggestions as Suggestions
    from qe.production.suggestion import suggest as suggest
    from qe.production.triage import ActionCosts as ActionCosts
    from qe.production.triage import Thresholds as Thresholds
    from qe.production.triage import Triage as Triage

__getattr__, __dir__ = exports(__name__)
