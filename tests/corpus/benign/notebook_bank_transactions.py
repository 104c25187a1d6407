from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Transaction:
    when: datetime
    source: str
    target: str
    amount: int


@dataclass
class Ledger:
    balances: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    log: list[Transaction] = field(default_factory=list)
    rejected: list[tuple[Transaction, str]] = field(default_factory=list)

    def apply(self, t: Transaction) -> bool:
        if t.amount <= 0:
            reason = "not positive"
        elif t.source == t.target:
            reason = "same account"
        elif t.source != "CASH" and self.balances[t.source] < t.amount:
            reason = f"only {self.balances[t.source]} left"
        else:
            self.balances[t.source] -= t.amount
            self.balances[t.target] += t.amount
            self.log.append(t)
            return True
        self.rejected.append((t, reason))
        return False


start = datetime(2024, 1, 1, 9)
moves = [("CASH", "ada", 100), ("ada", "bob", 30), ("bob", "cy", 50), ("bob", "bob", 1), ("ada", "cy", -5), ("cy", "ada", 1), ("ada", "cy", 70)]
ledger = Ledger()
results = [ledger.apply(Transaction(start + timedelta(hours=i), *move)) for i, move in enumerate(moves)]
print(results)
print(dict(ledger.balances), sum(ledger.balances.values()))
for t, reason in ledger.rejected:
    print(f"{t.when:%H:%M} {t.source}->{t.target} {t.amount:>4}: {reason}")
print(ledger.log[-1])
