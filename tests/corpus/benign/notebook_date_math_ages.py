from datetime import date, timedelta

people = {"Ada": date(1990, 2, 28), "Bob": date(1985, 12, 31), "Leap": date(2000, 2, 29)}
today = date(2024, 3, 1)


def age(born, on):
    return on.year - born.year - ((on.month, on.day) < (born.month, born.day))


def next_birthday(born, on):
    for year in (on.year, on.year + 1):
        try:
            day = born.replace(year=year)
        except ValueError:
            day = date(year, 3, 1)
        if day >= on:
            return day


for name, born in sorted(people.items(), key=lambda kv: next_birthday(kv[1], today)):
    upcoming = next_birthday(born, today)
    print(f"{name:<5} {age(born, today):>3} years, born on a {born:%A}, next: {upcoming} (in {(upcoming - today).days} days)")
weeks = {}
d = date(2024, 1, 1)
while d.year == 2024:
    weeks.setdefault(d.strftime("%b"), []).append(d)
    d += timedelta(weeks=1)
print({m: len(days) for m, days in weeks.items()})
print((date(2024, 12, 31) - date(2024, 1, 1)).days, date.fromordinal(738_000), date(2024, 3, 1).toordinal() - date(2024, 2, 1).toordinal())
