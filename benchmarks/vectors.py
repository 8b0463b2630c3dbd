"""SGD with explicit vectors: examples per second, beside those of the normal numbers alone.

python -m benchmarks.vectors
"""

from __future__ import annotations

import time

import numpy as np

from symderiv.experiment.studies.simulating import simulate
from symderiv.problem.initial import initial
from symderiv.problem.study import parse_study

N, EXAMPLES = 1000, 40_000

STUDY = f"""
[network]
activation = "erf"
students = 4
teachers = 4
[data]
model = "power-law"
dimension = {N}
distinct_eigenvalues = 4
exponent = 1.0
[training]
learning_rate = 0.3
[initial]
student_std = 0.01
[simulation]
method = "vectors"
runs = 1
[time]
values = [{EXAMPLES / N}]
"""


def rates(repeats: int = 7) -> tuple[float, float]:
    """Examples per CPU second of SGD and of drawing, taken in turn; the best of the repeats."""
    study = parse_study(STUDY)
    start = initial(study)
    random = np.random.default_rng(1)
    block = np.empty((128, N))
    learning, drawing = [], []
    for attempt in range(repeats + 1):
        begin = time.process_time()
        simulate(study, start=start, workers=1)
        learned = time.process_time()
        for _ in range(EXAMPLES // len(block)):
            random.standard_normal(out=block)
        drawn = time.process_time()
        if attempt:  # the first loads the compiled code
            learning.append(learned - begin)
            drawing.append((drawn - learned) * EXAMPLES / (EXAMPLES // len(block) * len(block)))
    return EXAMPLES / min(learning), EXAMPLES / min(drawing)


if __name__ == "__main__":
    learning, drawing = rates()
    print(f"{learning:.0f} examples/s, drawing alone {drawing:.0f}/s: {learning / drawing:.0%}")
