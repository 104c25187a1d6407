from html.parser import HTMLParser


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self._text, self._href = [], [], None

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self._href = dict(attrs).get("href")
            self._text = []

    def handle_data(self, data):
        if self._href is not None:
            self._text.append(data)

    def handle_endtag(self, tag):
        if tag == "a" and self._href is not None:
            self.links.append((self._href, "".join(self._text).strip()))
            self._href = None


parser = Links()
parser.feed('<p>See <a href="/docs">the <b>docs</b></a> or <a href="http://x.org?a=1&amp;b=2">here</a>.<br></p>')
for href, text in parser.links:
    print(f"{text} -> {href}")
