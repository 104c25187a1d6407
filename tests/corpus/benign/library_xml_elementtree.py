import xml.etree.ElementTree as ET

root = ET.fromstring("""<catalog>
  <book id="1"><title>Dust</title><price>12.50</price></book>
  <book id="2"><title>Rain</title><price>8.00</price></book>
</catalog>""")
total = 0.0
for book in root.findall("book"):
    price = float(book.findtext("price"))
    total += price
    print(book.get("id"), book.find("title").text, f"{price:.2f}")
print(f"{total:.2f}", len(root), root.tag)
