attempts = []


def fetch(part):
    attempts.append(part)
    if part == "b":
        raise TimeoutError("took too long")
    return part.upper()


results = []
try:
    for part in "abc":
        results.append(fetch(part))
except TimeoutError as e:
    e.add_note(f"finished: {results}")
    print("cleaning up after", attempts, e.__notes__)
    raise
