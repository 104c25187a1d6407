dirty = ["  Alice SMITH ", "bob\tjones", "CAROL  o'neil\n", "dave-lee (admin)", ""]
cleaned = [" ".join(name.split()).title() for name in dirty]
print(cleaned)
print([n.partition(" ")[::2] for n in cleaned], [n.swapcase()[:3] for n in cleaned])
line = "key=value; other = thing ;empty=;flag"
pairs = {}
for part in filter(None, map(str.strip, line.split(";"))):
    key, sep, value = part.partition("=")
    pairs[key.strip()] = value.strip() if sep else True
print(pairs)
print("a-b_c d".translate(str.maketrans("-_ ", "...")), "xxabcxx".strip("x"), "prefix_name".removeprefix("prefix_"), "f.tar.gz".removesuffix(".gz"))
print("abc".zfill(6), "7".rjust(3, "0"), "tab\there".expandtabs(4), "a,b,,c".rsplit(",", 1), "line1\r\nline2".splitlines())
print("Hello".isalpha(), "x1".isalnum(), "½".isnumeric(), "٣".isdigit(), "Ab".istitle(), " ".isspace(), "id_1".isidentifier())
print("banana".count("an"), "banana".replace("a", "o", 2), "-".join(reversed("abc")), "%s is %d%%" % ("half", 50), "ß".upper())
print("{:>8}|{:^8}|{:<8}|".format("r", "c", "l"), "abc" * 2, "b" in "abc", "apple" < "banana", ord("a"), chr(8364), "é".encode())
