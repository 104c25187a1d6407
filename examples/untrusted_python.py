"""Python from somebody else, run without a model: state, limits, typed errors, and what held.

    python examples/untrusted_python.py

It prints:

    [1, 1, 2, 3, 5, 8, 13, 21]
    refused by import-module
    stopped by limits.cell_seconds
    stopped by limits.memory_bytes
    it still knows the numbers: 54
    no-network: full
"""

from __future__ import annotations

from rlm_secure import CellRefused, Guarantee, Sandbox

HARMLESS = """\
numbers = [1, 1]
while len(numbers) < 8:
    numbers.append(numbers[-1] + numbers[-2])
print(numbers)
"""


def main() -> None:
    with Sandbox(policy="strict") as sandbox:
        print(sandbox.run(HARMLESS).check().stdout, end="")
        try:
            sandbox.run("import socket").check()
        except CellRefused as error:
            print("refused by", error.rule)
        for greedy in ("while True: pass", "numbers * 10**9"):
            stopped = sandbox.run(greedy, timeout=0.5).error
            assert stopped is not None
            print("stopped by", stopped.limit)
        print("it still knows the numbers:", sandbox.run("print(sum(numbers))").check().stdout.strip())
        print("no-network:", sandbox.report.guarantee(Guarantee.NO_NETWORK))


if __name__ == "__main__":
    main()
