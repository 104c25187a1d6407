from datetime import date, datetime

days = ["2024-02-28", "2024-02-29", "2024-02-30"]
for text in days:
    parsed = datetime.strptime(text, "%Y-%m-%d").date()
    print(parsed, (date(2024, 3, 1) - parsed).days)
