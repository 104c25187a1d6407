BUDGET = 256

def estimate_tokens(text: str) -> int:
    return max(1, len(text) // 4)

packed: list[list[str]] = [[]]
used = 0
for line in context.splitlines():
    cost = estimate_tokens(line)
    if used + cost > BUDGET:
        packed.append([])
        used = 0
    packed[-1].append(line)
    used += cost

print(f"{len(packed)} packs")
print("max lines in a pack:", max(len(p) for p in packed))
print("over budget:", sum(1 for p in packed if sum(map(estimate_tokens, p)) > BUDGET))
