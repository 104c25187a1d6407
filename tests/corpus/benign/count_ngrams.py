from collections import Counter
tokens = [t.strip(".,;:!?").lower() for t in context.split()]
bigrams = Counter(zip(tokens, tokens[1:]))
trigrams = Counter(zip(tokens, tokens[1:], tokens[2:]))
print(bigrams.most_common(3))
print(len(trigrams), max(trigrams.values()))
difference = Counter(tokens[:100]) - Counter(tokens[100:200])
print(sorted(difference.items())[:5])
