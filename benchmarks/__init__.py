"""Speed and memory, side by side in one run. Single thread means single thread: this is set here,
before any numerical library is loaded."""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
