from concurrent.futures import ThreadPoolExecutor, as_completed

lines = context.splitlines()
parts = {f"part-{k}": "\n".join(lines[k::5]) for k in range(5)}
found = {}
with ThreadPoolExecutor(max_workers=5) as pool:
    futures = {pool.submit(llm_query, f"Count the errors:\n{text}"): name for name, text in parts.items()}
    for future in as_completed(futures):
        name = futures[future]
        try:
            found[name] = future.result()
        except Exception as exc:
            found[name] = f"failed: {exc}"

for name in sorted(found):
    print(name, "->", found[name])
