from collections import Counter
import string

words = context.lower().translate(str.maketrans("", "", string.punctuation)).split()
counter = Counter(words)
for word, count in counter.most_common(10):
    print(f"{word:<15}{count:>5}")
print("distinct:", len(counter), "total:", counter.total())
