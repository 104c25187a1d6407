import re

sentences = re.split(r"(?<=[.!?])\s+", context)
sentences = [s.replace("\n", " ").strip() for s in sentences if len(s) > 20]
print("Number of sentences:", len(sentences))
windows = []
for i in range(0, len(sentences), 3):
    window = " ".join(sentences[i:i + 3])
    windows.append(window)
print(len(windows))
print(windows[0][:120])
shortest = sorted(windows, key=len)[:2]
print([len(w) for w in shortest])
