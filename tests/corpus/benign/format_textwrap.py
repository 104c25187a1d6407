import textwrap
text = "The quick brown fox jumps over the lazy dog. " * 3
print(textwrap.fill(text, 40))
print(textwrap.shorten(text, 30, placeholder="..."))
print(textwrap.indent("a\nb", "> "))
print(textwrap.dedent("""
    code
      more
""").strip())
