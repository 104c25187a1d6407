from enum import Enum, auto


class State(Enum):
    IDLE = auto()
    HAS_MONEY = auto()
    DISPENSING = auto()
    OUT_OF_ORDER = auto()


class Machine:
    PRICES = {"cola": 150, "water": 100}

    def __init__(self, stock):
        self.state, self.credit, self.stock = State.IDLE, 0, dict(stock)

    def handle(self, event, value=None):
        match (self.state, event, value):
            case (State.OUT_OF_ORDER, _, _):
                return "out of order"
            case (State.IDLE | State.HAS_MONEY, "coin", int(n)) if n in (10, 20, 50, 100):
                self.credit += n
                self.state = State.HAS_MONEY
                return f"credit {self.credit}"
            case (_, "coin", n):
                return f"rejected {n!r}"
            case (State.HAS_MONEY, "select", str(name)) if self.stock.get(name, 0) and self.credit >= self.PRICES[name]:
                self.stock[name] -= 1
                change, self.credit = self.credit - self.PRICES[name], 0
                self.state = State.IDLE if any(self.stock.values()) else State.OUT_OF_ORDER
                return f"{name}, change {change}"
            case (_, "select", name):
                return f"no {name}"
            case (_, "kick", _):
                self.state = State.OUT_OF_ORDER
                return "ouch"
            case _:
                return "?"


m = Machine({"cola": 1, "water": 1})
for event in [("coin", 100), ("coin", 5), ("select", "cola"), ("coin", 50), ("select", "cola"), ("select", "water"), ("sing",), ("coin", 100), ("select", "water"), ("coin", 10)]:
    print(f"{event!s:<22}{m.handle(*event):<16}{m.state.name}")
