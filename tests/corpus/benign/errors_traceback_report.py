import traceback
from io import StringIO


def level_3(x):
    return 10 / x


def level_2(x):
    return level_3(x - 1)


def level_1(x):
    return level_2(x - 1)


def capture(function, *args):
    try:
        return "ok", function(*args)
    except Exception as e:
        buffer = StringIO()
        traceback.print_exc(file=buffer)
        text = buffer.getvalue()
        return type(e).__name__, [name for name in ("level_1", "level_2", "level_3") if f"in {name}" in text]


print(capture(level_1, 4))
print(capture(level_1, 2))
print(capture(level_2, "x"))
try:
    level_1(2)
except ZeroDivisionError as e:
    lines = traceback.format_exception(e)
    print(lines[0].strip(), "|", lines[-1].strip(), "|", len(lines) > 2)
