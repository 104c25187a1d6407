candidates = [line for line in context.splitlines() if "slow disk" in line]
print(f"{len(candidates)} candidate lines")

def is_relevant(reply: str) -> bool:
    number = int("".join(ch for ch in reply if ch.isdigit()) or 0)
    return number % 2 == 0

batch = 10
kept = []
for i in range(0, len(candidates), batch):
    part = candidates[i:i + batch]
    replies = llm_query_batched([f"Is this line about user data? yes/no\n{line}" for line in part])
    kept += [line for line, reply in zip(part, replies) if is_relevant(reply)]
print(f"kept {len(kept)}")
for line in kept[:3]:
    stamp, _, rest = line.partition(" WARNING ")
    print(f"  {stamp} … {rest.split(' user=')[1].split()[0]}")
