values = [0, 7, -12345.678, 1e10, 0.000123, 1234567890]
for v in values:
    print(f"{v:>15,.2f}|{v:<12g}|{v:^+14.3e}|{v:015.1f}")
print(f"{255:#x} {255:b} {255:o} {255:08b} {1e6:_.0f} {0.256:.1%} {'left':*<10}{'right':*>10}{'mid':*^9}")
name, width, precision = "pi", 12, 4
print(f"{name!r:>{width}} {3.14159265:{width}.{precision}f} {name=} {width * 2=} {3.0=:.2f}")
print("%-8s|%5d|%08.3f|%x|%s%%|%r" % ("left", 42, 3.14159, 255, 50, "q"))
print("{0} {1!r} {0:>5} {name:^{w}}".format("a", "b", name="mid", w=9), "{:,}".format(1234567), "{x[0]} {y.real}".format(x=[1], y=2))
print(str(1.0), repr(0.1), 1e16, 1e-5, 123456789.123456789, float("inf"), -0.0, 1_000)
