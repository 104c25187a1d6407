import numpy as np

a = np.arange(24).reshape(2, 3, 4)
print(a.sum(axis=(0, 2)), a.transpose(1, 0, 2).shape, a.swapaxes(0, 2).shape, np.rollaxis(a, 2).shape, a[:, ::-1, 1:3].tolist(), a.min(axis=-1), a.squeeze().shape, np.atleast_2d([1, 2]).shape, a.any(), a.ptp() if hasattr(a, "ptp") else np.ptp(a), a.cumsum()[-1], a.diagonal().shape, a.nonzero()[0].size, a.repeat(2, axis=0).shape, a.take([0, 5]), a.clip(3, 5).max(), a.round(1).dtype, a.argmin(), a.trace().shape, a.compress([True, False], axis=0).shape, a.dot(np.ones(4)).shape, a.flat[5], a.itemsize, a.real.sum(), a.conj().sum())
x = np.zeros(5)
x[[1, 3]] += 1
np.add.at(x, [1, 1], 5)
np.put(x, [0], 9)
np.place(x, x > 8, 0)
np.copyto(x[:1], 7)
print(x, np.maximum.reduce([1, 5, 3]), np.add.accumulate([1, 2, 3]), np.logical_and.reduce([True, False]), np.subtract.outer([1, 2], [1, 2]), np.nanargmax([1, np.nan, 3]), np.nancumsum([1, np.nan]), np.trim_zeros([0, 1, 0]), np.ediff1d([1, 3]), np.array_split([1, 2, 3], 2), np.block([[np.eye(1), np.zeros((1, 1))]]), np.fliplr(np.eye(2)), np.tri(2), np.vander([1, 2], 2), np.triu_indices(2), np.diag_indices(2), np.cumulative_sum([1, 2]), np.unstack(np.eye(2))[0], np.median([[1, 3], [2, 4]], axis=0), np.corrcoef([1, 2, 3], [3, 2, 1])[0, 1], np.rot90([[1, 2]]), np.resize([1, 2], 5), np.histogram2d([1, 2], [1, 2], bins=2)[0], np.nan_to_num([np.nan]))
