def tool(function):
    """Describe a function for the model."""
    kinds = {name: getattr(kind, "__name__", str(kind)) for name, kind in function.__annotations__.items()}
    returns = kinds.pop("return", "None")
    return {"name": function.__name__, "doc": (function.__doc__ or "").strip().split("\n")[0], "args": kinds, "returns": returns}


def search(query: str, limit: int = 5) -> list[str]:
    """Search the context.

    Returns the first lines that contain the query.
    """
    return [l for l in context.splitlines() if query in l][:limit]


def count(word: str) -> int:
    """Count a word."""
    return context.count(word)


for f in (search, count):
    print(tool(f))
print(len(search("ERROR", limit=2)), count("timeout") > 0)
