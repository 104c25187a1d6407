import re

text = "Revenue was $1,234.50 in Q1, -7.5% in Q2, 1e6 units, and 42 in total; 3.14.15 is no number."
numbers = [float(n.replace(",", "")) for n in re.findall(r"-?\d[\d,]*\.?\d*(?:e\d+)?", text)]
print(numbers)
print(sum(numbers), max(numbers), min(numbers))
percent = re.search(r"(-?\d+(?:\.\d+)?)%", text)
print(percent.group(), percent.group(1), percent.span())
