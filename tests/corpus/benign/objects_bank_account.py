class InsufficientFunds(Exception):
    def __init__(self, needed, available):
        super().__init__(f"needed {needed:.2f}, only {available:.2f} available")
        self.needed = needed
        self.available = available

    @property
    def short(self):
        return self.needed - self.available


class Account:
    interest = 0.01

    def __init__(self, owner, balance=0.0):
        self.owner = owner
        self.__balance = balance
        self.history = []

    @property
    def balance(self):
        return self.__balance

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("deposit must be positive")
        self.__balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount):
        if amount > self.__balance:
            raise InsufficientFunds(amount, self.__balance)
        self.__balance -= amount
        self.history.append(("withdraw", amount))


class Savings(Account):
    interest = 0.03

    def add_interest(self):
        self.deposit(round(self.balance * self.interest, 2))


a = Savings("Ada", 100)
a.deposit(50.5)
a.add_interest()
try:
    a.withdraw(1000)
except InsufficientFunds as e:
    print(f"{type(e).__name__}: {e} (short by {e.short:.2f})", isinstance(e, Exception), e.args)
try:
    a.balance = 1_000_000
except AttributeError as e:
    print("no cheating:", type(e).__name__)
a.withdraw(54.5)
print(f"{a.owner}: {a.balance:.2f}", a.history)
print(hasattr(a, "__balance"), hasattr(a, "_Account__balance"))
