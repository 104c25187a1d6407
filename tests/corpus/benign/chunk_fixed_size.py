# Split the context into fixed-size chunks and look at each.
chunk_size = 1000
chunks = [context[i:i + chunk_size] for i in range(0, len(context), chunk_size)]
print(f"Total length: {len(context)} characters, {len(chunks)} chunks")
for i, chunk in enumerate(chunks[:3]):
    print(f"--- chunk {i} ({len(chunk)} chars) ---")
    print(chunk[:80])
print("last chunk size:", len(chunks[-1]))
