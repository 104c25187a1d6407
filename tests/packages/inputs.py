"""The files that the cells of tests/corpus/data read: made here, the same every time."""

from __future__ import annotations

import datetime
import json
import math
import random

FIRST = "Anna Ben Carla David Elena Frank Grace Hanna Ivan Julia Karl Laura".split()
LAST = "Ames Brand Chan Duarte Evans Fischer Gupta Hanson".split()
DAY = datetime.timedelta(days=1)


def _csv(head: str, rows: list[list[object]]) -> str:
    return "\n".join([head, *(",".join("" if each is None else str(each) for each in row) for row in rows), ""])


def _sales(dice: random.Random) -> str:
    rows: list[list[object]] = []
    prices = {"pen": 1.5, "book": 12.0, "lamp": 30.0, "desk": 150.0}
    for number in range(400):
        product = dice.choice(list(prices))
        day = datetime.date(2024, 1, 1) + DAY * dice.randrange(182)
        price = round(prices[product] * dice.uniform(0.8, 1.3), 2)
        units = dice.randint(1, 40 if product == "pen" else 20)
        region = dice.choice(["north", "south", "east", "west"])
        rows.append([1000 + number, day, region, product, units, price, dice.randint(1, 50)])
    return _csv("order_id,date,region,product,units,price,customer_id", rows)


def _customers(dice: random.Random) -> str:
    rows: list[list[object]] = [
        [
            number,
            f"{dice.choice(FIRST)} {dice.choice(LAST)}",
            dice.choice(["consumer", "corporate", "home office"]),
            datetime.date(2022, 1, 1) + DAY * dice.randrange(700),
            dice.choice(["DE", "FR", "US", "IN"]),
        ]
        for number in range(1, 61)
    ]
    return _csv("customer_id,name,segment,signup,country", rows)


def _passengers(dice: random.Random) -> str:
    rows: list[list[object]] = []
    for number in range(1, 301):
        sex, kind = dice.choice(["male", "male", "female"]), dice.choices([1, 2, 3], [20, 25, 55])[0]
        age = round(min(max(dice.gauss(30, 14), 1), 80), 1) if dice.random() > 0.2 else None
        lived = int(dice.random() < (0.75 if sex == "female" else 0.2) - 0.1 * (kind - 2))
        title = "Mr" if sex == "male" else dice.choice(["Mrs", "Miss"])
        name = f'"{dice.choice(LAST)}, {title}. {dice.choice(FIRST)}"'
        fare = round(math.exp(dice.gauss(4.2 - 0.8 * kind, 0.5)) * 3, 4)
        port = dice.choices(["S", "C", "Q", None], [70, 20, 9, 1])[0]
        rows.append(
            [number, lived, kind, name, sex, age, dice.choice([0, 0, 0, 1, 2]), dice.choice([0, 0, 1]), fare, port]
        )
    return _csv("PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Fare,Embarked", rows)


def _prices(dice: random.Random) -> str:
    rows: list[list[object]] = []
    day, close = datetime.date(2022, 1, 3), 100.0
    while len(rows) < 500:
        if day.weekday() < 5:
            start, close = close, close * (1 + dice.gauss(0.0004, 0.015))
            high, low = max(start, close) * (1 + dice.random() / 100), min(start, close) * (1 - dice.random() / 100)
            rows.append([day, *(round(each, 2) for each in (start, high, low, close)), dice.randint(10_000, 90_000)])
        day += DAY
    return _csv("Date,Open,High,Low,Close,Volume", rows)


def _weather(dice: random.Random) -> str:
    rows: list[list[object]] = []
    for number in range(365):
        warm = round(10 - 9 * math.cos(number / 365 * 2 * math.pi) + dice.gauss(0, 2), 1)
        rain = round(dice.expovariate(0.2), 1) if dice.random() < 0.4 else 0.0
        day = datetime.date(2023, 1, 1) + DAY * number
        rows.append([day, None if dice.random() < 0.05 else warm, rain])
    return _csv("date,temp,rain", rows)


def _iris(dice: random.Random) -> str:
    means = {"setosa": (5.0, 3.4, 1.5, 0.25), "versicolor": (5.9, 2.8, 4.3, 1.3), "virginica": (6.6, 3.0, 5.5, 2.0)}
    rows: list[list[object]] = [
        [*(round(abs(dice.gauss(mean, 0.1 + mean / 18)), 1) for mean in each), name]
        for name, each in means.items()
        for _ in range(50)
    ]
    return _csv("sepal_length,sepal_width,petal_length,petal_width,species", rows)


def _reviews(dice: random.Random) -> str:
    parts = (
        "the lamp is great and bright|this desk was broken|delivery was slow|I love the pen|it is a good book".split(
            "|"
        )
    )
    parts += ["bad paper, really", "works well for a month", "a great price", "the support team is slow to answer"]
    rows: list[list[object]] = [
        [number, dice.randint(1, 5), '"' + ". ".join(dice.sample(parts, dice.randint(2, 4))).capitalize() + '!"']
        for number in range(40)
    ]
    return _csv("id,stars,text", rows)


def _events(dice: random.Random) -> str:
    found, clock = [], datetime.datetime.fromisoformat("2024-03-01T08:00")
    for number in range(150):
        clock += datetime.timedelta(minutes=dice.choice([1, 3, 5, 20, 50]))
        action = dice.choices(["view", "cart", "buy"], [70, 20, 10])[0]
        found.append(
            {"id": number, "user": f"u{dice.randint(1, 9)}", "time": clock.isoformat(sep=" "), "action": action}
        )
    return json.dumps(found)


MESSY = """ Name ,Age, Salary ($), Joined
  anna ames,34,"$52,000.00",2021-03-04
BEN BRAND,n/a,"$48,500",04/05/2020
carla chan ,29,,"March 7, 2019"
BEN BRAND,n/a,"$48,500",04/05/2020
,41,"$10",2020-01-01
david duarte,thirty,unknown,not yet
"""


def files() -> dict[str, str]:
    """The text of each file, by name."""
    makers = {
        "sales.csv": _sales, "customers.csv": _customers, "passengers.csv": _passengers, "prices.csv": _prices,
        "weather.csv": _weather, "iris.csv": _iris, "reviews.csv": _reviews, "events.json": _events,
    }  # fmt: skip
    return {name: make(random.Random(name)) for name, make in makers.items()} | {"messy.csv": MESSY}
