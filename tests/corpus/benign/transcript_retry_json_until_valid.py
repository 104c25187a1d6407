import json

MAX = 3
schema_hint = '{"count": <int>, "users": [<str>]}'
prompt = f"How many errors are there, and for which users? Reply as {schema_hint}.\n\n{context[-3000:]}"
history = []
result = None
for attempt in range(1, MAX + 1):
    reply = llm_query(prompt)
    history.append(reply)
    try:
        candidate = json.loads(reply)
        if not isinstance(candidate.get("count"), int):
            raise ValueError("count must be a number")
        result = candidate
        break
    except (json.JSONDecodeError, ValueError, AttributeError) as e:
        print(f"attempt {attempt}: {type(e).__name__}: {e}")
        prompt += f"\n\nYour last reply was not valid ({e}). Reply with JSON only."
else:
    print(f"no valid reply in {MAX} attempts; computing it directly")
    errors = [l for l in context[-3000:].splitlines() if " ERROR " in l]
    result = {"count": len(errors), "users": sorted({l.split("user=")[1].split()[0] for l in errors})}
print(json.dumps(result), len(history), len(set(map(len, history))))
