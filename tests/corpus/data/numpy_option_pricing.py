import math
import numpy as np

S0, K, r, sigma, T, n = 100.0, 105.0, 0.03, 0.2, 1.0, 200_000
rng = np.random.default_rng(11)
z = rng.standard_normal(n)
ST = S0 * np.exp((r - 0.5 * sigma**2) * T + sigma * np.sqrt(T) * z)
payoff = np.exp(-r * T) * np.maximum(ST - K, 0)
price, se = payoff.mean(), payoff.std(ddof=1) / np.sqrt(n)
d1 = (math.log(S0 / K) + (r + sigma**2 / 2) * T) / (sigma * math.sqrt(T))
N = lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))
exact = S0 * N(d1) - K * math.exp(-r * T) * N(d1 - sigma * math.sqrt(T))
print(f"MC {price:.4f} +- {1.96 * se:.4f}, Black-Scholes {exact:.4f}", abs(price - exact) < 3 * se)
