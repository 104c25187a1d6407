class Bank:
    def __init__(self):
        self.accounts = {}
        self._next_id = 1

    def open(self, owner, deposit=0):
        account_id = self._next_id
        self._next_id += 1
        self.accounts[account_id] = {"owner": owner, "balance": deposit}
        return account_id

    def transfer(self, source, target, amount):
        if self.accounts[source]["balance"] < amount:
            raise ValueError("insufficient funds")
        self.accounts[source]["balance"] -= amount
        self.accounts[target]["balance"] += amount

    def __str__(self):
        return "; ".join(f"{k}:{v['owner']}={v['balance']}" for k, v in self.accounts.items())

bank = Bank()
a, b = bank.open("Ann", 100), bank.open("Ben")
bank.transfer(a, b, 30)
print(bank)
try:
    bank.transfer(b, a, 500)
except ValueError as e:
    print("error:", e)
