from contextlib import ExitStack, contextmanager, suppress, AbstractContextManager


class Resource(AbstractContextManager):
    def __init__(self, name):
        self.name = name
        print("open", name)

    def __exit__(self, *exc):
        print("close", self.name, exc[0].__name__ if exc[0] else "")


with ExitStack() as stack:
    resources = [stack.enter_context(Resource(n)) for n in "abc"]
    stack.callback(print, "callback", sep="-")
    print("using", [r.name for r in resources])

with suppress(RuntimeError):
    with ExitStack() as stack:
        stack.enter_context(Resource("x"))
        raise RuntimeError("boom")

with ExitStack() as stack:
    stack.enter_context(Resource("kept"))
    kept = stack.pop_all()
print("still open")
kept.close()


@contextmanager
def tag(name):
    print(f"<{name}>", end="")
    yield
    print(f"</{name}>")


with tag("p"):
    print("text", end="")


@tag("div")
def decorated():
    print("inside", end="")


decorated()
