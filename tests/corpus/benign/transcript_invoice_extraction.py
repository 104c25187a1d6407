import json
import re
from decimal import Decimal

invoice = """
INVOICE No. 2024-0173            Date: 14.02.2024
To: Example Ltd, 12 High Street

  2 x  Office chair             à  129.90
 10 x  Notebook A5              à    3.25
  1 x  Delivery                 à   15.00

Subtotal     307.30
VAT 8.1 %     24.89
TOTAL CHF    332.19
"""

fields = {
    "number": re.search(r"No\.\s*([\w-]+)", invoice)[1],
    "date": "-".join(reversed(re.search(r"Date:\s*(\d\d)\.(\d\d)\.(\d{4})", invoice).groups())),
    "total": Decimal(re.search(r"TOTAL\s+\w+\s+([\d.]+)", invoice)[1]),
}
lines = [
    {"quantity": int(q), "text": text.strip(), "price": Decimal(p)}
    for q, text, p in re.findall(r"^\s*(\d+) x\s+(.+?)\s+à\s+([\d.]+)$", invoice, re.M)
]
subtotal = sum(l["quantity"] * l["price"] for l in lines)
vat = (subtotal * Decimal("0.081")).quantize(Decimal("0.01"))
for l in lines:
    print(f"{l['quantity']:>3} {l['text']:<15}{l['price']:>8} {l['quantity'] * l['price']:>9}")
print(subtotal, vat, subtotal + vat, "matches" if subtotal + vat == fields["total"] else "DIFFERS")
print(json.dumps(fields | {"lines": len(lines)}, default=str))
