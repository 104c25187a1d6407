import numpy as np

names = np.array(["alice", "bob", "carol"])
print(np.char.upper(names), np.char.capitalize(names), np.char.add(names, "!"), np.char.str_len(names))
print(np.char.replace(names, "o", "0"), np.char.find(names, "o"), np.char.startswith(names, "a"), np.char.multiply(names, 2))
print(np.char.split(np.array(["a b", "c d"])), np.char.join("-", names), np.char.center(names, 9, "*"), np.char.strip(np.array([" x "])))
print(np.strings.upper(names), np.strings.count(names, "o"), names.astype("U2"), names == "bob")
