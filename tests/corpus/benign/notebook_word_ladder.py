from collections import deque
from string import ascii_lowercase

WORDS = set("cold cord card ward warm word worm wold gold bold bald ball wall".split())


def steps(word):
    for i in range(len(word)):
        for c in ascii_lowercase:
            other = word[:i] + c + word[i + 1:]
            if other != word and other in WORDS:
                yield other


def ladder(start, goal):
    parents = {start: None}
    queue = deque([start])
    while queue:
        word = queue.popleft()
        if word == goal:
            path = []
            while word:
                path.append(word)
                word = parents[word]
            return path[::-1]
        for other in sorted(steps(word)):
            if other not in parents:
                parents[other] = word
                queue.append(other)
    return None


print(ladder("cold", "warm"), ladder("gold", "wall"), ladder("cold", "zzzz"))
degree = {w: sum(1 for _ in steps(w)) for w in WORDS}
print(sorted(degree.items(), key=lambda kv: (-kv[1], kv[0]))[:4])
anagrams = {}
for word in "listen silent enlist google elbow below".split():
    anagrams.setdefault("".join(sorted(word)), []).append(word)
print([group for group in anagrams.values() if len(group) > 1])
