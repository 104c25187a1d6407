from dataclasses import dataclass, field

@dataclass
class Item:
    name: str
    price: float
    quantity: int = 1
    tags: list = field(default_factory=list)

    @property
    def total(self) -> float:
        return self.price * self.quantity

cart = [Item("pen", 1.5, 10), Item("book", 12.0), Item("bag", 30.0, tags=["sale"])]
cart[0].quantity += 5
cart[1].tags.append("gift")
for item in cart:
    print(item, item.total)
print(sum(item.total for item in cart))
print(Item("a", 1) == Item("a", 1), Item("a", 1) != Item("b", 1))
