import json
import re

chunks = [context[i:i + 4000] for i in range(0, len(context), 4000)]
prompts = [
    "Return a JSON object with keys `errors` and `users` for this log excerpt. JSON only.\n" + chunk
    for chunk in chunks
]
replies = llm_query_batched(prompts)

parsed, failed = [], []
for i, reply in enumerate(replies):
    cleaned = re.sub(r"^```(?:json)?\s*|\s*```$", "", reply.strip())
    try:
        parsed.append(json.loads(cleaned))
    except json.JSONDecodeError as e:
        failed.append((i, e.msg, e.pos))

print(f"parsed {len(parsed)}, failed {len(failed)}")
for i, msg, pos in failed:
    print(f"  chunk {i}: {msg} at {pos}")

# Fall back to counting it myself.
errors = sum(chunk.count(" ERROR ") for chunk in chunks)
users = sorted(set(re.findall(r"user=(\w+)", context)))
answer["content"] = json.dumps({"errors": errors, "users": users})
print(answer)
