table = [["name", "n"], ["a", "1"], ["b", "2"]]
header, *rows = table
print(header, len(rows))
column = [row[header.index("n")] for row in rows]
print("sum of", column)
print(sum(column))
