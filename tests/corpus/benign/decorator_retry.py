def retry(times, exceptions=(Exception,)):
    def decorate(fn):
        def inner(*args, **kwargs):
            last = None
            for attempt in range(1, times + 1):
                try:
                    return fn(*args, **kwargs)
                except exceptions as e:
                    last = e
                    print(f"attempt {attempt} failed: {e}")
            raise last
        return inner
    return decorate

state = {"n": 0}

@retry(3, (ValueError,))
def flaky():
    state["n"] += 1
    if state["n"] < 3:
        raise ValueError(f"try {state['n']}")
    return "ok"

print(flaky(), state)
