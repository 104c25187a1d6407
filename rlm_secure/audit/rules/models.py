"""Policy rules on language models: which ones cells may call, how often, and at what cost."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.audit.rules.limits import LimitRule
from rlm_secure.guarantees import Guarantee
from rlm_secure.policy.complaint import shown
from rlm_secure.policy.model import MIB

_PATTERN = re.compile(r"[*?\[\]]|^(?:any|all)$", re.IGNORECASE)
_MANY = 10


class WeakSpend(LimitRule):
    """A run may cost more than 1,000 US dollars.

    A cell decides the prompts of its sub-calls, and their number. A hostile document needs no escape to spend your
    money: it only has to make the model ask again.

    Bad:
        [lm]
        cost_usd = 25_000.0

    Good:
        [lm]
        cost_usd = 20.0

    See:
        threat-model.md, claim bounded-spend
    """

    id = "weak-spend"
    severity = Severity.HIGH
    weakens = (Guarantee.BOUNDED_SPEND,)
    hint = "lower lm.cost_usd to what one answer is worth"
    most = (("lm.cost_usd", 1_000.0),)


class WeakCalls(LimitRule):
    """A run may make more model calls, or use more tokens, than a budget should allow.

    If a provider reports no cost, calls and tokens are the only limit on what a run spends.

    Bad:
        [lm]
        calls = 5_000_000

    Good:
        [lm]
        calls = 1_000

    See:
        threat-model.md, claim bounded-spend
    """

    id = "weak-calls"
    weakens = (Guarantee.BOUNDED_SPEND,)
    hint = "lower it; strict has 1,000 calls and 20,000,000 tokens"
    most = (("lm.calls", 100_000), ("lm.tokens", 2_000_000_000))


class WeakRefusals(LimitRule):
    """A cell may continue after more than 10,000 refused calls.

    Code whose budget is spent may call again by mistake, or to keep the host busy: each refused call is read, decoded
    and answered. Honest code that collects errors stops at the end of its list.

    Bad:
        [lm]
        refusals = 1_000_000

    Good:
        [lm]
        refusals = 100

    See:
        threat-model.md, claim host-integrity
    """

    id = "weak-refusals"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME, Guarantee.HOST_INTEGRITY)
    hint = "lower lm.refusals; strict has 100"
    most = (("lm.refusals", 10_000),)


class UnpricedModels(Rule[PolicySubject]):
    """A run with a cost limit may use models without a known price.

    The cost limit then has no effect: calls of such a model count as zero. Calls and tokens are the only limit on what
    the run spends.

    Bad:
        [lm]
        unpriced = true

    Good:
        [lm]
        unpriced = false

    See:
        rlm_secure/clients/prices.py
    """

    id = "unpriced-models"
    kind = Kind.POLICY
    weakens = (Guarantee.BOUNDED_SPEND,)
    hint = "set lm.unpriced = false, and give the price of the model: RLM(prices={'my-model': (0.5, 1.5)})"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        if subject.policy.lm.unpriced:
            yield self.finding(subject.at("lm.unpriced"), "lm.unpriced is true", about="lm.unpriced")


class WeakDepth(LimitRule):
    """Recursion may go deeper than eight levels.

    Each level may open as many children as the one above it: the number of calls grows exponentially with the depth,
    and only the ledger limits it. Published runs use one or two levels.

    Bad:
        [lm]
        depth = 16

    Good:
        [lm]
        depth = 2

    See:
        https://arxiv.org/abs/2512.24601
    """

    id = "weak-depth"
    weakens = (Guarantee.BOUNDED_SPEND,)
    hint = "lower lm.depth; strict has 4"
    most = (("lm.depth", 8),)


class WeakConcurrency(LimitRule):
    """More than 64 model calls may be in flight, or more than 10,000 prompts in one batch.

    Calls in flight cost money even if the ledger refuses the next one. Providers may also treat large batches as
    abuse.

    Bad:
        [lm]
        concurrency = 1024

    Good:
        [lm]
        concurrency = 16

    See:
        threat-model.md, claim bounded-spend
    """

    id = "weak-concurrency"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_SPEND,)
    hint = "lower it; strict has 16 in flight and batches of 1,000"
    most = (("lm.concurrency", 64), ("lm.batch", 10_000))


class WeakIterations(LimitRule):
    """A completion may take more than 1,000 turns.

    A model that has found no answer after a hundred turns rarely finds one later, and each turn sends the whole
    history again.

    Bad:
        [lm]
        iterations = 100_000

    Good:
        [lm]
        iterations = 100

    See:
        threat-model.md, claim bounded-spend
    """

    id = "weak-iterations"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_SPEND,)
    hint = "lower lm.iterations; strict has 100"
    most = (("lm.iterations", 1_000),)


class WeakRetries(LimitRule):
    """A failed model call is retried more than five times.

    Retries multiply the calls that a hostile cell makes fail on purpose, and the load on a provider that is down.

    Bad:
        [lm]
        retries = 10

    Good:
        [lm]
        retries = 2

    See:
        https://sre.google/sre-book/addressing-cascading-failures/
    """

    id = "weak-retries"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_SPEND, Guarantee.BOUNDED_TIME)
    hint = "lower lm.retries; strict has 2"
    most = (("lm.retries", 5),)


class WeakPrompt(LimitRule):
    """A cell may send or receive a prompt of more than 16 MiB.

    No model can read that much. The host holds every prompt and reply in memory, checks it, and may log it.

    Bad:
        [lm]
        prompt_bytes = 536_870_912

    Good:
        [lm]
        prompt_bytes = 4_194_304

    See:
        threat-model.md, section 3, the door of calls
    """

    id = "weak-prompt"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_SPEND, Guarantee.HOST_INTEGRITY)
    hint = "lower it; strict has 4 MiB"
    most = (("lm.prompt_bytes", 16 * MIB), ("lm.reply_bytes", 16 * MIB))


class WeakModelTime(LimitRule):
    """A single model call may take more than 20 minutes.

    A call that hangs occupies a slot, a thread and its session for that time.

    Bad:
        [lm]
        timeout_seconds = 7200.0

    Good:
        [lm]
        timeout_seconds = 300.0

    See:
        threat-model.md, claim bounded-time
    """

    id = "weak-model-time"
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_TIME,)
    hint = "lower lm.timeout_seconds; strict has 300"
    most = (("lm.timeout_seconds", 1_200.0),)


class ModelWildcard(Rule[PolicySubject]):
    """A model is named by a pattern, and names are compared exactly.

    `"*"` allows only a model that is called `*`. Its author probably expects that cells may name any model, which no
    policy should allow, or that a prefix matches, which it does not.

    Bad:
        [lm]
        models = ["*"]

    Good:
        [lm]
        models = ["gpt-5-mini"]

    See:
        policies/TEMPLATE.toml, lm.models
    """

    id = "model-wildcard"
    kind = Kind.POLICY
    weakens = (Guarantee.BOUNDED_SPEND,)
    hint = "name each model that cells may ask for; the run's own models are always allowed"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for index, name in enumerate(subject.policy.lm.models):
            if _PATTERN.search(name):
                message = f"lm.models has {shown(name)}, which looks like a pattern"
                yield self.finding(subject.at("lm.models", index), message, about=f"lm.models {name}")


class ModelsMany(Rule[PolicySubject]):
    """Cells may choose between more than ten models.

    Each may add another price, another provider that sees the context, and other terms.

    Bad:
        [lm]
        models = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]

    Good:
        [lm]
        models = ["gpt-5-mini", "gpt-5"]

    See:
        policies/TEMPLATE.toml, lm.models
    """

    id = "models-many"
    kind = Kind.POLICY
    severity = Severity.LOW
    weakens = (Guarantee.BOUNDED_SPEND,)
    hint = "leave those in lm.models that cells need to name"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        count = len(subject.policy.lm.models)
        if count > _MANY:
            yield self.finding(subject.at("lm.models"), f"cells may name {count} models", about="lm.models")


RULES = (
    WeakSpend, WeakCalls, WeakRefusals, UnpricedModels, WeakDepth, WeakConcurrency, WeakIterations, WeakRetries,
    WeakPrompt, WeakModelTime, ModelWildcard, ModelsMany,
)  # fmt: skip
