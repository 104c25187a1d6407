class Trie:
    def __init__(self):
        self.root = {}

    def add(self, word):
        node = self.root
        for letter in word:
            node = node.setdefault(letter, {})
        node["$"] = True

    def complete(self, prefix):
        node = self.root
        for letter in prefix:
            if letter not in node:
                return []
            node = node[letter]
        found = []
        def walk(n, word):
            if "$" in n:
                found.append(word)
            for letter in sorted(k for k in n if k != "$"):
                walk(n[letter], word + letter)
        walk(node, prefix)
        return found

trie = Trie()
for word in "car card care cat dog do".split():
    trie.add(word)
print(trie.complete("car"), trie.complete("d"), trie.complete("x"))
