import html
import unicodedata
import re

raw = "<p>Cr&egrave;me &amp; sugar &lt;open&gt; &#8364;5 &nbsp;today</p>"
text = html.unescape(re.sub(r"</?\w+>", "", raw)).replace("\xa0", " ")
print(text, "|", html.escape('<a href="x">it\'s</a>'))


def slugify(value):
    value = unicodedata.normalize("NFKD", value).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", value).strip().lower())


for title in ("Crème Brûlée à la carte!", "Zürich – Genève 2024", "naïve façade", "日本 text"):
    print(slugify(title))
for ch in "aß€½٣":
    print(repr(ch), unicodedata.name(ch, "?"), unicodedata.category(ch), unicodedata.numeric(ch, None))
print(unicodedata.normalize("NFC", "e\u0301") == "é", len("e\u0301"), "straße".casefold(), "ǅ".lower())
