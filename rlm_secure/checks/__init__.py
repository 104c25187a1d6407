"""The host's checks of output of a model, a cell or a tool: in linear time, or in a limited number of steps.

`Steps` counts, `Pattern` matches regular expressions, `JSONSchema` and `Typed` check values.
"""

from rlm_secure.checks.keywords import KEYWORDS
from rlm_secure.checks.patterns import Pattern, PatternRefused
from rlm_secure.checks.schema import JSONSchema
from rlm_secure.checks.steps import OutOfSteps, Steps
from rlm_secure.checks.typed import Typed

__all__ = ["KEYWORDS", "JSONSchema", "OutOfSteps", "Pattern", "PatternRefused", "Steps", "Typed"]
