import html
import re
page = "<html><body><h1>Title &amp; more</h1><p class='x'>First&nbsp;<b>bold</b></p><!-- note --><p>Second &lt;tag&gt;</p></body></html>"
text = re.sub(r"<!--.*?-->", "", page, flags=re.S)
text = re.sub(r"</(p|h1)>", "\n", text)
text = html.unescape(re.sub(r"<[^>]+>", "", text)).replace("\xa0", " ")
print(text.strip())
print(html.escape("<a href='x'>"), re.findall(r"<(\w+)", page))
