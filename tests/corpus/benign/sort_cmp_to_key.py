from functools import cmp_to_key, total_ordering

def compare(a, b):
    if a + b > b + a:
        return -1
    return 1 if a + b < b + a else 0

print("".join(sorted(["3", "30", "34", "5", "9"], key=cmp_to_key(compare))))

@total_ordering
class Grade:
    ORDER = "FDCBA"
    def __init__(self, letter):
        self.letter = letter
    def __eq__(self, other):
        return self.letter == other.letter
    def __lt__(self, other):
        return self.ORDER.index(self.letter) < self.ORDER.index(other.letter)
    def __repr__(self):
        return self.letter

grades = [Grade(c) for c in "BADFC"]
print(sorted(grades), max(grades), Grade("A") >= Grade("B"))
