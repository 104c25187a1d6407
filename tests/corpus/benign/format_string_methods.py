s = "  Hello, World  "
print(s.strip().lower().replace("l", "L"), s.lstrip() + "|", s.title(), s.swapcase())
print("a,b,,c".split(","), "a b  c".split(), "k=v=w".split("=", 1), "x".join("abc"), "line1\nline2\r\nline3".splitlines())
print("abc".startswith(("a", "z")), "file.tar.gz".rsplit(".", 1), "path/to".partition("/"), "ab12".isalnum(), "7".zfill(3))
print("banana".count("an"), "banana".find("nan"), "banana".rindex("a"), "tEST".capitalize(), "ß".casefold(), "abc".center(9, "-"))
print("".join(chr(ord(c) + 1) for c in "HAL"), "abc"[::-1], "é".encode(), b"\xc3\xa9".decode("utf-8"), "x" * 3, "a" < "b")
print("prefix-body-suffix".removeprefix("prefix-").removesuffix("-suffix"), "a\tb".expandtabs(4), "%s" % (1, ))
