def analyse(text, *, min_length=4, top=5):
    stats = {"skipped": 0}

    def words():
        for raw in text.split():
            word = raw.strip(".,:;!?()[]#").lower()
            if len(word) < min_length or not word.isalpha():
                stats["skipped"] += 1
                continue
            yield word

    counts = {}
    for word in words():
        counts[word] = counts.get(word, 0) + 1
    stats["distinct"] = len(counts)
    stats["top"] = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:top]
    return stats


stats = analyse(context)
for key, value in stats.items():
    print(f"{key:<9}{value}")
print(analyse("A tiny text, tiny indeed!", min_length=3, top=1))
