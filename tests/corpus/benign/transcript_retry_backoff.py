import time
import functools


class TransientError(RuntimeError):
    """The service asked us to come back later."""


def with_retries(attempts: int = 3, delay: float = 0.0, exceptions: tuple = (TransientError,)):
    def decorate(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            for attempt in range(1, attempts + 1):
                try:
                    return func(*args, **kwargs)
                except exceptions as exc:
                    print(f"  attempt {attempt} of {func.__name__} failed: {exc}")
                    if attempt == attempts:
                        raise
                    time.sleep(delay * 2 ** attempt)
        return wrapper
    return decorate


calls = {"n": 0}


@with_retries(attempts=4)
def flaky_query(prompt: str) -> str:
    """Ask, but fail at first."""
    calls["n"] += 1
    if calls["n"] < 3:
        raise TransientError(f"rate limited (call {calls['n']})")
    return llm_query(prompt)


print(flaky_query("What does the report say about the disk cache?\n" + context[:400]))
print(flaky_query.__name__, "|", flaky_query.__doc__)
calls["n"] = -10
try:
    flaky_query("again")
except TransientError as exc:
    print("gave up:", exc)
