import re
from urllib.parse import urlparse, parse_qs

text = "See https://docs.example.com/guide?page=2&sort=asc, http://test.org and https://example.com/a/b#frag."
urls = re.findall(r"https?://[^\s,]+", text)
for url in urls:
    parsed = urlparse(url.rstrip("."))
    print(parsed.scheme, parsed.netloc, parsed.path or "/", parse_qs(parsed.query), parsed.fragment or "-")
