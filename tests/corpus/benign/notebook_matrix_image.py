def canvas(width, height, fill=" "):
    return [[fill] * width for _ in range(height)]


def line(c, x0, y0, x1, y1, ch):
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx, sy = (1 if x0 < x1 else -1), (1 if y0 < y1 else -1)
    error = dx + dy
    while True:
        c[y0][x0] = ch
        if (x0, y0) == (x1, y1):
            break
        twice = 2 * error
        if twice >= dy:
            error += dy
            x0 += sx
        if twice <= dx:
            error += dx
            y0 += sy


def show(c):
    print("+" + "-" * len(c[0]) + "+")
    for row in c:
        print("|" + "".join(row) + "|")
    print("+" + "-" * len(c[0]) + "+")


c = canvas(20, 7)
line(c, 0, 6, 19, 0, "*")
line(c, 0, 0, 19, 6, "o")
show(c)


def mandelbrot(z, limit=20):
    w = 0
    for i in range(limit):
        if abs(w) > 2:
            return i
        w = w * w + z
    return limit


for y in range(-4, 5):
    print("".join(" .:-=+*#%@"[mandelbrot(complex(x / 15, y / 4)) * 9 // 20] for x in range(-32, 12)))
blur = [[sum(v for v in row[max(0, i - 1):i + 2]) // len(row[max(0, i - 1):i + 2]) for i in range(len(row))] for row in [[0, 9, 0, 0], [9, 9, 9, 9]]]
print(blur)
