from contextlib import contextmanager, ExitStack, suppress, nullcontext
import io


@contextmanager
def transaction(store):
    backup = dict(store)
    try:
        yield store
    except Exception:
        store.clear()
        store.update(backup)
        raise
    else:
        store["commits"] = store.get("commits", 0) + 1


@contextmanager
def temporarily(target, **changes):
    missing = object()
    before = {k: getattr(target, k, missing) for k in changes}
    for k, v in changes.items():
        setattr(target, k, v)
    try:
        yield target
    finally:
        for k, v in before.items():
            if v is missing:
                delattr(target, k)
            else:
                setattr(target, k, v)


class Options:
    verbose = False
    width = 80


store = {"a": 1}
with transaction(store) as s:
    s["b"] = 2
with suppress(KeyError), transaction(store) as s:
    s["a"] = 99
    s["missing"]
print(store)
options = Options()
options.width = 100
with temporarily(options, width=40, color="red"):
    print(options.width, options.color)
print(options.width, hasattr(options, "color"))
with ExitStack() as stack:
    files = [stack.enter_context(io.StringIO(text)) for text in ("one\n", "two\nthree\n")]
    lines = [line.strip() for f in files for line in f]
print(lines, all(f.closed for f in files))
for maybe in (None, io.StringIO("x")):
    with maybe or nullcontext(io.StringIO("default")) as f:
        print(f.read())
