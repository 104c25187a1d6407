buffer = []
for i in range(0, len(context), 4000):
    buffer.append(llm_query(f"Given what is known: {' '.join(buffer)[-100:]}\nRead: {context[i:i + 50]}"))
    print(f"after {i}: {len(buffer)} notes")
print("\n".join(buffer))
