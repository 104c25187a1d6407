import html
import re


def inline(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"(?<!\*)\*([^*]+)\*", r"<i>\1</i>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)


def convert(source):
    out, items, paragraph = [], [], []

    def flush():
        nonlocal items, paragraph
        if items:
            out.append("<ul>" + "".join(f"<li>{i}</li>" for i in items) + "</ul>")
        if paragraph:
            out.append(f"<p>{' '.join(paragraph)}</p>")
        items, paragraph = [], []

    for line in source.splitlines():
        if m := re.match(r"(#{1,6}) (.+)", line):
            flush()
            out.append("<h{0}>{1}</h{0}>".format(len(m[1]), inline(m[2])))
        elif m := re.match(r"[-*] (.+)", line):
            if paragraph:
                flush()
            items.append(inline(m[1]))
        elif line.strip():
            if items:
                flush()
            paragraph.append(inline(line.strip()))
        else:
            flush()
    flush()
    return "\n".join(out)


print(convert("""# Title & more

Some *text* with **bold** and `code < 1`,
on two lines.
- first [link](http://x.org)
- second
## End
"""))
print(convert(context)[:180])
