import csv
from io import StringIO

text = "name;score;note\nAda;9.5;'a;b'\nBob;7;\n"
rows = list(csv.reader(StringIO(text), delimiter=";", quotechar="'"))
header, *body = rows
print(header, body)
buffer = StringIO()
writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC)
writer.writerow(["name", "score"])
writer.writerows([name, float(score)] for name, score, _ in body)
print(buffer.getvalue().replace("\r\n", "|"))
lines = ["a\tb\tc", "1\t2\t3"]
for row in csv.reader(lines, dialect="excel-tab"):
    print(row)
dialect = csv.Sniffer().sniff("x|y|z\n1|2|3\n4|5|6\n")
print(repr(dialect.delimiter))
columns = list(zip(*csv.reader("p,q\n1,2\n3,4".splitlines())))
print({name: values for name, *values in columns})
