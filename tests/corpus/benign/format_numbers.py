value = 1234567.891
print(f"{value:,.2f} {value:.3e} {value:>15.1f}| {value:<15.0f}| {value:^+15,.0f}|")
print(f"{255:#x} {255:08b} {255:o} {0.256:.1%} {-7:+d} {7:03d}")
print("{:,}".format(10**9), "{:>10}|{:<10}|{:^10}".format("r", "l", "c"))
print("%d items, %5.2f total, %s, %r, %%" % (3, 4.5, "s", "r"))
print(round(2.675, 2), round(1234, -2), format(3.14159, ".2f"), repr(0.1 + 0.2))
