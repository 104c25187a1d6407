def chunk_with_overlap(text, size=500, overlap=50):
    """Split text into overlapping windows."""
    chunks = []
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        chunks.append(text[start:end])
        if end == len(text):
            break
        start = end - overlap
    return chunks

parts = chunk_with_overlap(context, size=700, overlap=100)
print(len(parts), [len(p) for p in parts[:5]])
assert all(parts[i][-100:] == parts[i + 1][:100] for i in range(len(parts) - 1))
print("overlaps are consistent")
