import statistics as st
data = [2.75, 1.75, 1.25, 0.25, 0.5, 1.25, 3.5]
print(st.mean(data), st.median(data), st.mode(data), round(st.pstdev(data), 4), round(st.variance(data), 4))
print(st.multimode("aabbc"), st.median_low([1, 3, 5, 7]), st.harmonic_mean([40, 60]), st.fmean([1, 2, 4]))
z = [(x - st.mean(data)) / st.stdev(data) for x in data]
print([round(v, 2) for v in z], round(sum(z), 9) == 0)
