from contextlib import contextmanager, suppress, closing, nullcontext

events = []

@contextmanager
def section(name):
    events.append(f"<{name}>")
    try:
        yield name.upper()
    except ValueError as e:
        events.append(f"!{e}")
    finally:
        events.append(f"</{name}>")

with section("outer") as o, section("inner") as i:
    events.append(o + i)
with section("bad"):
    raise ValueError("oops")
with suppress(KeyError, IndexError):
    {}["x"]
with nullcontext(5) as five:
    events.append(five)
print(events)
