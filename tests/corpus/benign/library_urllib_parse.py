from urllib.parse import urlparse, parse_qs, parse_qsl, urlencode, urljoin, quote, unquote, quote_plus, urlunparse, urlsplit

urls = [
    "https://user@example.com:8443/a/b.html?q=data+set&page=2&tag=x&tag=y#top",
    "http://example.org/search?q=%C3%A9t%C3%A9",
    "mailto:ops@example.com",
    "/relative/path?x=",
]
for url in urls:
    p = urlparse(url)
    print(f"{p.scheme or '-':<7}{p.hostname or '-':<13}{p.port or '-':<6}{p.path:<22}{parse_qs(p.query)}")
print(urlencode({"name": "Ada L.", "tags": ["a", "b"]}, doseq=True), urljoin("http://x.org/a/b", "../c?d=1"))
print(quote("a b/ü"), quote_plus("a b&c"), unquote("%7Euser%20x"), parse_qsl("a=1&a=2&b="))
p = urlsplit(urls[0])
print(p.netloc, p.fragment, p._replace(query="", fragment="").geturl())
print(urlunparse(("https", "h", "/p", "", "k=v", "")))
domains = {}
for url in urls:
    domains.setdefault(urlparse(url).netloc or "(none)", []).append(url[:20])
print(domains)
