"""Write digits-covariance.npz: the covariance of the 64 pixels of scikit-learn's digits.

Needs the extra "examples" (scikit-learn). Run it as  python examples/digits_covariance.py
The pixels are small integers, so the sums below are exact and the file is the same everywhere.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

pixels = load_digits().data.astype(np.int64)
count = pixels.shape[0]
total = pixels.sum(axis=0)
# sum of (x - mean)(x - mean)^T over count - 1, brought to one fraction of integers
covariance = (count * pixels.T @ pixels - np.outer(total, total)) / (count * (count - 1))
target = Path(__file__).with_name("digits-covariance.npz")
np.savez_compressed(target, covariance=covariance)
print(f"{target.name}: covariance of {count} digits, shape {covariance.shape}")
