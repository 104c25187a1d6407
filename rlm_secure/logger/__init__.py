"""The records of a run: trajectory, display and audit log, each without secrets or terminal escapes."""

from rlm_secure.inert import excerpt, inert, inert_for_model
from rlm_secure.logger.audit_key import audit_key
from rlm_secure.logger.audit_log import AuditLog, Verified, verify
from rlm_secure.logger.read import read_trajectory
from rlm_secure.logger.redact import Redactor
from rlm_secure.logger.trajectory import RLMLogger
from rlm_secure.logger.verbose import VerbosePrinter

__all__ = [
    "AuditLog",
    "RLMLogger",
    "Redactor",
    "VerbosePrinter",
    "Verified",
    "audit_key",
    "excerpt",
    "inert",
    "inert_for_model",
    "read_trajectory",
    "verify",
]
