import random
import statistics as st
import numpy as np
import pandas as pd

random.seed(3)
np.random.seed(3)
deck = [f"{r}{s}" for s in "SHDC" for r in "A23456789TJQK"]
random.shuffle(deck)
print(deck[:5], random.sample(range(100), 3), round(random.gauss(0, 1), 4))
wins = {"stay": 0, "switch": 0}
for _ in range(2000):
    car, pick = np.random.randint(3), np.random.randint(3)
    opened = next(d for d in range(3) if d not in (car, pick))
    wins["stay"] += int(pick == car)
    wins["switch"] += int(next(d for d in range(3) if d not in (pick, opened)) == car)
print(wins, pd.Series(wins).div(2000).round(3).to_dict())
birthdays = [len(set(np.random.randint(365, size=23))) < 23 for _ in range(1000)]
print(np.mean(birthdays), st.mean([1.0, 2.5]), st.pstdev(np.arange(4).tolist()), st.median(pd.Series([3, 1, 2])))
sir = pd.DataFrame(index=range(60), columns=["S", "I", "R"], dtype=float)
sir.loc[0] = [990, 10, 0]
for t in range(1, 60):
    S, I, R = sir.loc[t - 1]
    new, gone = 0.3 * S * I / 1000, 0.1 * I
    sir.loc[t] = [S - new, I + new - gone, R + gone]
print(sir.iloc[[0, 20, 59]].round(1), sir["I"].idxmax())
