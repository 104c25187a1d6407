from typing import TypedDict, NotRequired, Literal, Union, Optional, Final

VAT: Final = 0.077


class Line(TypedDict):
    text: str
    amount: float
    kind: Literal["goods", "service"]
    note: NotRequired[str]


class Invoice(TypedDict, total=False):
    number: int
    lines: list[Line]
    paid: Optional[bool]


def total(invoice: Invoice, *, kind: Union[str, None] = None) -> float:
    return sum(line["amount"] for line in invoice.get("lines", []) if kind is None or line["kind"] == kind)


invoice: Invoice = {
    "number": 7,
    "lines": [
        {"text": "Keyboard", "amount": 80.0, "kind": "goods"},
        {"text": "Set-up", "amount": 120.5, "kind": "service", "note": "2 h"},
        Line(text="Cable", amount=9.9, kind="goods"),
    ],
}
print(f"{total(invoice):.2f} {total(invoice, kind='goods'):.2f} {total({}):.2f} {total(invoice) * (1 + VAT):.2f}")
for number, line in enumerate(invoice["lines"], 1):
    print(f"{number}. {line['text']:<10}{line['amount']:>8.2f}  {line.get('note', '-')}")
print(type(invoice).__name__, sorted(Line.__annotations__), invoice.get("paid"))
