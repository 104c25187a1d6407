import csv
import io

text = "name,score\nada,9\nbob\n"
total = 0
for row in csv.DictReader(io.StringIO(text)):
    print(row)
    total += int(row["score"])
print(total)
