import time


class RateLimited(Exception):
    pass


def call(n):
    raise RateLimited(f"call {n}")


for n in range(3):
    try:
        call(n)
    except RateLimited as e:
        print("waiting after", e)
        time.sleep(0)
        last = e
raise RuntimeError("all attempts failed") from last
