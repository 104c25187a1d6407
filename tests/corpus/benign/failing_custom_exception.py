class BudgetExceeded(Exception):
    """Too many calls."""

    def __init__(self, used, limit):
        super().__init__(f"{used} calls, {limit} allowed")
        self.used = used
        self.limit = limit


calls = 0


def ask(prompt):
    global calls
    calls += 1
    if calls > 3:
        raise BudgetExceeded(calls, 3)
    return llm_query(prompt)


for i, paragraph in enumerate(context.split("\n\n")):
    print(i, ask(paragraph[:100] or "empty"))
