lines = ["2024-01-01 ok", "2024-01-02 ok", "garbage"]
statuses = []
for line in lines:
    day, status = line.split()[0], line.split()[1]
    statuses.append(status)
    print(day, status)
print(statuses)
