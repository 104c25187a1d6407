def process(batch):
    results = []
    for i, item in enumerate(batch):
        try:
            results.append(100 // item)
        except (ZeroDivisionError, TypeError) as e:
            e.add_note(f"item {i} of {len(batch)}")
            e.add_note(f"value: {item!r}")
            raise
    return results


for batch in ([5, 20], [1, 0], ["a"]):
    try:
        print(process(batch))
    except Exception as e:
        notes = getattr(e, "__notes__", [])
        print(f"{type(e).__name__}: {e}", *notes, sep="\n    ")
print(hasattr(ValueError("plain"), "__notes__"))
