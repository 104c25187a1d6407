from concurrent.futures import ThreadPoolExecutor

def ask(chunk: str) -> str:
    return llm_query(f"List the users in this text:\n{chunk}")

step = len(context) // 6 + 1
chunks = [context[i:i + step] for i in range(0, len(context), step)]
with ThreadPoolExecutor(max_workers=4) as executor:
    results = list(executor.map(ask, chunks))

for i, (chunk, result) in enumerate(zip(chunks, results)):
    print(f"{i}: {len(chunk)} chars -> {result}")
print(f"all answered: {all(results)}")
