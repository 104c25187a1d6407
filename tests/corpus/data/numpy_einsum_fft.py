import numpy as np

A = np.arange(6.0).reshape(2, 3)
B = np.arange(12.0).reshape(3, 4)
print(np.einsum("ij,jk->ik", A, B), np.einsum("ii", np.eye(3)), np.einsum("ij->j", A), np.tensordot(A, B, axes=1).shape)
t = np.arange(0, 1, 1 / 64)
signal = np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 12 * t)
spec = np.abs(np.fft.rfft(signal)) / len(t) * 2
freqs = np.fft.rfftfreq(len(t), 1 / 64)
top = np.argsort(spec)[-2:][::-1]
print(freqs[top], spec[top].round(3), np.allclose(np.fft.irfft(np.fft.rfft(signal)), signal), np.fft.fftshift(np.fft.fftfreq(4)))
print(np.fft.fft([1, 0, 0, 0]), np.angle(1j), np.real([1 + 2j]), np.conj(1 + 2j), np.abs(3 + 4j))
