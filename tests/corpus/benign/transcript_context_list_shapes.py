# The context could be a string, a list of documents or a dict, so normalise it first.
def to_documents(value) -> list[dict]:
    if isinstance(value, str):
        return [{"id": i, "text": part} for i, part in enumerate(value.split("\n\n")) if part.strip()]
    if isinstance(value, dict):
        return [{"id": key, "text": str(text)} for key, text in value.items()]
    if isinstance(value, (list, tuple)):
        return [d if isinstance(d, dict) else {"id": i, "text": str(d)} for i, d in enumerate(value)]
    raise TypeError(f"cannot read a {type(value).__name__}")


docs = to_documents(context)
print(len(docs), [d["id"] for d in docs][:5], max(len(d["text"]) for d in docs))
print(to_documents({"a": 1, "b": None}))
print(to_documents(["x", {"id": 7, "text": "y"}]))
for bad in (3, None, {1, 2}):
    try:
        to_documents(bad)
    except TypeError as e:
        print("TypeError:", e)
