class Countdown:
    def __init__(self, start):
        self.current = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.current <= 0:
            raise StopIteration
        self.current -= 1
        return self.current + 1

class Timer:
    def __init__(self, label):
        self.label = label
        self.log = []

    def __enter__(self):
        self.log.append("enter " + self.label)
        return self

    def __exit__(self, exc_type, exc, tb):
        self.log.append(f"exit {exc_type.__name__ if exc_type else None}")
        return exc_type is ValueError

print(list(Countdown(4)), max(Countdown(3)))
with Timer("a") as t:
    t.log.append("body")
with Timer("b") as u:
    raise ValueError("swallowed")
print(t.log, u.log)
