import sys
from itertools import islice


class Progress:
    def __init__(self, iterable, total=None, width=20, out=None):
        self.iterable, self.width, self.out = iterable, width, out or sys.stdout
        self.total = total if total is not None else len(iterable)
        self.shown = -1

    def __iter__(self):
        for i, item in enumerate(self.iterable, 1):
            yield item
            filled = self.width * i // self.total
            if filled != self.shown and filled % 5 == 0:
                self.shown = filled
                print(f"[{'=' * filled:<{self.width}}] {i}/{self.total}", file=self.out)


lines = context.splitlines()
longest = 0
for line in Progress(lines):
    longest = max(longest, len(line))
print("longest", longest)
for n in Progress((x * x for x in range(4)), total=4, width=10, out=sys.stderr):
    pass
print(list(islice(Progress("abc"), 2)))
