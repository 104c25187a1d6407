import csv, io
out = io.StringIO()
writer = csv.writer(out, quoting=csv.QUOTE_MINIMAL)
writer.writerow(["id", "text", "score"])
for i, (text, score) in enumerate([("plain", 1.5), ("with, comma", 2), ('with "quotes"', None)]):
    writer.writerow([i, text, score])
print(out.getvalue())
out.seek(0)
print([row for row in csv.reader(out)])
