class Account:
    interest = 0.02
    opened = 0

    def __init__(self, owner, balance=0):
        self.owner = owner
        self._balance = balance
        self.history = []
        Account.opened += 1

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("Deposit must be positive")
        self._balance += amount
        self.history.append(("deposit", amount))
        return self

    def withdraw(self, amount):
        if amount > self._balance:
            raise RuntimeError(f"{self.owner} has only {self._balance}")
        self._balance -= amount
        self.history.append(("withdraw", amount))
        return self

    @property
    def balance(self):
        return self._balance

acc = Account("Ada", 100)
acc.deposit(50).withdraw(30)
print(acc.balance, acc.history, Account.opened)
for action in (lambda: acc.deposit(-1), lambda: acc.withdraw(1000)):
    try:
        action()
    except (ValueError, RuntimeError) as e:
        print(f"{type(e).__name__}: {e}")
