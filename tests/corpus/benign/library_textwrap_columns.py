import textwrap
from itertools import zip_longest

left = "The service ran for two days. Most requests were fast, and a few were not."
right = "Timeouts became rarer after the cache was replaced; nothing else was changed between the days."


def columns(*texts, width=28, gap=3):
    wrapped = [textwrap.wrap(t, width) for t in texts]
    for parts in zip_longest(*wrapped, fillvalue=""):
        yield (" " * gap).join(f"{p:<{width}}" for p in parts).rstrip()


def justify(line, width):
    words = line.split()
    if len(words) == 1:
        return line
    spaces, extra = divmod(width - sum(map(len, words)), len(words) - 1)
    return "".join(w + " " * (spaces + (i < extra)) for i, w in enumerate(words[:-1])) + words[-1]


print("\n".join(columns(left, right)))
print("\n".join(justify(l, 30) for l in textwrap.wrap(left, 30)))
bullet = textwrap.TextWrapper(width=36, initial_indent="- ", subsequent_indent="  ", max_lines=2, placeholder=" …")
print(bullet.fill(right))
print(textwrap.indent(textwrap.dedent("""
    def f():
        return 1
"""), "> ", lambda line: line.strip()))
box = textwrap.wrap(right, 24)
print("┌" + "─" * 26 + "┐", *(f"│ {l:<24} │" for l in box), "└" + "─" * 26 + "┘", sep="\n")
