import re
words = "price: 10 USD, cost: 20 EUR, tax: 5 USD"
print(re.findall(r"\d+(?= USD)", words))
print(re.findall(r"(?<=cost: )\d+", words))
print(re.findall(r"\b\w+\b(?!:)", words))
print(re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", "1234567"))
print([m.start() for m in re.finditer("(?=aa)", "aaaa")])
