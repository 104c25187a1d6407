def simulate(population, infected, beta, gamma, days, steps=10):
    s, i, r = population - infected, float(infected), 0.0
    dt = 1 / steps
    history = [(0, s, i, r)]
    for day in range(1, days + 1):
        for _ in range(steps):
            new, healed = beta * s * i / population * dt, gamma * i * dt
            s, i, r = s - new, i + new - healed, r + healed
        history.append((day, s, i, r))
    return history


history = simulate(10_000, 10, beta=0.4, gamma=0.1, days=120)
peak = max(history, key=lambda row: row[2])
print(f"peak on day {peak[0]} with {peak[2]:.0f} infected; R0 = {0.4 / 0.1:.1f}")
for day, s, i, r in history[::15]:
    bar = "s" * int(s / 400) + "I" * int(i / 400) + "r" * int(r / 400)
    print(f"day {day:>3} {s:>8.0f} {i:>7.0f} {r:>8.0f} {bar}")
assert all(abs(s + i + r - 10_000) < 1e-6 for _, s, i, r in history)
herd = next(day for day, s, i, r in history if s < 10_000 / 4)
print("below the herd threshold from day", herd, "| final share", f"{history[-1][3] / 10_000:.1%}")
