from dataclasses import dataclass, field, replace, fields, astuple, asdict
from typing import ClassVar


@dataclass(order=True)
class Item:
    sort_index: tuple = field(init=False, repr=False)
    name: str
    price: float
    quantity: int = 0
    tags: set[str] = field(default_factory=set, compare=False)
    currency: ClassVar[str] = "EUR"

    def __post_init__(self):
        if self.price < 0:
            raise ValueError(f"price of {self.name} is negative")
        self.sort_index = (-self.price, self.name)

    @property
    def value(self) -> float:
        return self.price * self.quantity


@dataclass
class Inventory:
    items: dict[str, Item] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        if item.name in self.items:
            known = self.items[item.name]
            item = replace(known, quantity=known.quantity + item.quantity)
        self.items[item.name] = item

    def total(self) -> float:
        return sum(i.value for i in self.items.values())


shop = Inventory()
for name, price, quantity in [("pen", 1.5, 100), ("book", 12.0, 8), ("pen", 1.5, 20), ("lamp", 39.9, 2)]:
    shop.add(Item(name, price, quantity))
for item in sorted(shop.items.values()):
    print(f"{item.name:>6} {item.price:>7.2f} x {item.quantity:<4} = {item.value:>8.2f} {Item.currency}")
print(f"{shop.total():.2f}", [f.name for f in fields(Item) if f.init])
print(shop.items["book"])
print(asdict(Item("cup", 2, 1, {"kitchen"})), astuple(Item("x", 1))[1:4])
try:
    Item("bad", -1)
except ValueError as e:
    print(e)
