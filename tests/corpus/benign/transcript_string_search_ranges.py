text = context
start = text.index("## Background")
end = text.index("## Log")
background = text[start:end]
print(len(background), background.count("\n"))
sentences = [s.strip() for s in background.replace("\n", " ").split(". ") if s.strip()]
for i, s in enumerate(sentences):
    print(f"{i}: {s[:60]!r}")
words = background.split()
print(words[0], words[-1], max(words, key=len), sorted(set(w.lower().strip(".,;") for w in words))[:5])
print(background.find("unicorn"), background.rfind("day"), "cache" in background, background.splitlines()[0].strip("# "))
block_starts = [i for i in range(len(text)) if text.startswith("### Block", i)]
print(block_starts == sorted(block_starts), len(block_starts), text[block_starts[-1]:].splitlines()[0])
