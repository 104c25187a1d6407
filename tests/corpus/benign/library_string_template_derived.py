from string import Template, ascii_lowercase, digits, punctuation, capwords
t = Template("Dear $name, you owe ${amount} USD. $$ signs")
print(t.substitute(name="Bo", amount=5), t.safe_substitute(name="X"))
try: t.substitute(name="q")
except KeyError as e: print("missing", e)
def caesar(s, k):
    table = str.maketrans(ascii_lowercase, ascii_lowercase[k:] + ascii_lowercase[:k])
    return s.translate(table)
print(caesar("hello", 3), caesar(caesar("hello", 3), -3), capwords("the end of it"), len(punctuation), digits)
class Mine(Template):
    delimiter = "%"
print(Mine("%a-%b").substitute({"a": 1, "b": 2}))
