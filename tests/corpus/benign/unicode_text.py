import unicodedata
text = "Crème Brûlée — naïve café Ⅻ ﬁ"
stripped = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
print(stripped)
print([unicodedata.name(c, "?") for c in "é—🦊"], unicodedata.category("A"), len("🦊"), "🦊".encode("utf-8"))
print(text.casefold(), sorted(set(text) - set(stripped)))
