# Rough token estimate: 4 characters per token. Pack lines greedily under the budget.
BUDGET = 700

def estimate(text: str) -> int:
    return max(1, -(-len(text) // 4))

packs: list[list[str]] = [[]]
used = 0
for line in context.splitlines(keepends=True):
    cost = estimate(line)
    if used + cost > BUDGET and packs[-1]:
        packs.append([])
        used = 0
    packs[-1].append(line)
    used += cost

sizes = [estimate("".join(pack)) for pack in packs]
print(f"{len(packs)} packs, tokens min={min(sizes)} max={max(sizes)} avg={sum(sizes) / len(sizes):.1f}")
assert "".join("".join(pack) for pack in packs) == context
replies = llm_query_batched([f"Pack {i}/{len(packs)}\n" + "".join(pack) for i, pack in enumerate(packs, 1)])
print(len(replies), replies[0], replies[-1], sep=" | ")
