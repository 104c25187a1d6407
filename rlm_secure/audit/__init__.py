"""`rlm-secure audit` as a library: rules on files, attacks on environments, one Report.

>>> from rlm_secure.audit import audit
>>> report = audit(["strict"])
>>> report.code
0
"""

from rlm_secure.audit.finding import Confidence, Finding, Location, NotChecked, Severity, Unreadable
from rlm_secure.audit.report import CLEAN, COULD_NOT_RUN, FOUND, NOTHING_AUDITED, Ignored, Report
from rlm_secure.audit.rule import Kind, Page, Rule
from rlm_secure.audit.rules import BY_ID, RULES
from rlm_secure.audit.run import audit

__all__ = [
    "BY_ID",
    "CLEAN",
    "COULD_NOT_RUN",
    "FOUND",
    "NOTHING_AUDITED",
    "RULES",
    "Confidence",
    "Finding",
    "Ignored",
    "Kind",
    "Location",
    "NotChecked",
    "Page",
    "Report",
    "Rule",
    "Severity",
    "Unreadable",
    "audit",
]
