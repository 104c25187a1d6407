class CircuitOpen(RuntimeError):
    def __init__(self, name, failures):
        super().__init__(f"{name} is closed for now")
        self.failures = failures


class Breaker:
    def __init__(self, function, limit=2, pause=2):
        self.function, self.limit, self.pause = function, limit, pause
        self.failures, self.skip = [], 0

    def __call__(self, *args):
        if self.skip:
            self.skip -= 1
            raise CircuitOpen(self.function.__name__, tuple(self.failures))
        try:
            result = self.function(*args)
        except Exception as e:
            self.failures.append(type(e).__name__)
            if len(self.failures) >= self.limit:
                self.skip = self.pause
            raise
        self.failures.clear()
        return result


@Breaker
def divide(a, b):
    return a / b


for a, b in [(1, 1), (1, 0), ("1", 2), (4, 2), (4, 2), (4, 2), (9, 3)]:
    try:
        print("ok", divide(a, b), len(divide.failures))
    except CircuitOpen as e:
        print("open:", e, e.failures)
    except (ZeroDivisionError, TypeError) as e:
        print("failed:", type(e).__name__)
