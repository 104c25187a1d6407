class Trie:
    def __init__(self):
        self.children = {}
        self.count = 0

    def insert(self, word):
        node = self
        for ch in word:
            node = node.children.setdefault(ch, Trie())
        node.count += 1

    def walk(self, prefix=""):
        if self.count:
            yield prefix, self.count
        for ch in sorted(self.children):
            yield from self.children[ch].walk(prefix + ch)

    def suggest(self, prefix, limit=3):
        node = self
        for ch in prefix:
            if ch not in node.children:
                return []
            node = node.children[ch]
        return sorted(node.walk(prefix), key=lambda wc: (-wc[1], wc[0]))[:limit]


import re
trie = Trie()
for word in re.findall(r"[a-z]+", context.lower()):
    trie.insert(word)
for prefix in ("re", "s", "lo", "xyz"):
    print(f"{prefix}: {trie.suggest(prefix)}")
words = dict(trie.walk())
print(len(words), max(words, key=words.get), sum(words.values()))
