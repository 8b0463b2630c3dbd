"""The numbers of localisation: what decides it, and the population flow. Half a minute.

python -m benchmarks.localisation            the table; exit code 1 if a bound is missed
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from symderiv_models.localisation.flow import PopulationFlow

import symderiv as sd
from symderiv.inputs.ring_inputs import GaussianRing

Floats = npt.NDArray[np.float64]

#: The settings of the table: D, K, gain, lengths, and how many standard errors apart.
SITES, UNITS, GAIN, LENGTHS, APART = 40, 4, 3.0, (2.0, 1.0), 10.0


def rates_by_angles(inputs: GaussianRing, weights: Floats) -> Floats:
    """E[(y − f) 1(S_k > 0) x] of ReLU units by adaptive quadrature, shape (K, D).

    x is regressed on two fields, whose moments are integrals over an angle between kinks.
    """
    units = len(weights)
    found = np.zeros_like(weights)
    for label in (0, 1):
        covariance = inputs.covariance(label)
        for k in range(units):
            if label:
                one = covariance @ weights[k]
                found[k] += 0.5 * one / np.sqrt(2.0 * np.pi * (weights[k] @ one))
            for j in range(units):
                pair = weights[[k, j]]
                moments = covariance @ pair.T
                second = pair @ moments
                if j == k:
                    found[k] -= 0.25 / units * moments[:, 0]
                    continue
                root = np.asarray(np.linalg.cholesky(second), dtype=np.float64)
                # E[r²] = 2 of a planar Gaussian
                across = [2.0 * _angular(root, index) for index in (0, 1)]
                found[k] -= 0.5 / units * (moments @ np.linalg.solve(second, np.array(across)))
    return found


def _angular(root: Floats, index: int) -> float:
    """Mean over angles of 1(S > 0) relu(T) times S or T for points on the unit circle."""

    def value(angle: float) -> float:
        fields = root @ np.array([np.cos(angle), np.sin(angle)])
        return float((fields[0] > 0.0) * max(fields[1], 0.0) * fields[index])

    kinks = [np.arctan2(-row[0], row[1]) for row in root]
    ends = sorted({k % (2 * np.pi) for k in kinks} | {(k + np.pi) % (2 * np.pi) for k in kinks})
    pieces = zip([0.0, *ends], [*ends, 2 * np.pi], strict=True)
    return float(sum(quad(value, *piece, epsabs=1e-13)[0] for piece in pieces) / (2.0 * np.pi))


def marginals() -> tuple[str, str, str, bool]:
    """NLGP against its Gaussian surrogate."""
    ratios = []
    for inputs in ("nlgp", "gaussian"):
        found = sd.localise(gain=GAIN, lengths=LENGTHS, inputs=inputs, steps=1000, progress=False)
        ratios.append(found.participation_ratio)
    nlgp, surrogate = ratios
    error = math.hypot(nlgp["standard_error"], surrogate["standard_error"])
    apart = (nlgp["mean"] - surrogate["mean"]) / error
    measured = (
        f"{nlgp['mean']:.3f} ± {nlgp['standard_error']:.3f}, "
        f"{surrogate['mean']:.3f} ± {surrogate['standard_error']:.3f}: "
        f"{apart:.0f} standard errors apart"
    )
    what = "participation ratios, NLGP of gain 3 and surrogate, 8 runs"
    return what, measured, f"> {APART:g}", apart > APART


def population_flow() -> list[tuple[str, str, str, bool]]:
    """CPU seconds to the steady state, and rates along the way against adaptive quadrature."""
    inputs = sd.NLGP(gain=GAIN, lengths=LENGTHS, sites=SITES).surrogate()
    flow = PopulationFlow(inputs, UNITS)
    start = 0.01 * np.random.default_rng(0).standard_normal((UNITS, SITES))
    begun = time.process_time()
    flow.steady_state(start)
    seconds = time.process_time() - begun
    path = flow.run(start, np.append(0.0, np.geomspace(1e-2, 1e4, 3))).weights
    worst = max(
        float(np.max(np.abs(flow.rate(each) - rates_by_angles(inputs, each)))) for each in path[:3]
    )
    name = f"population flow, ReLU, D = {SITES}, K = {UNITS}"
    return [
        (f"{name}: to its steady state", f"{seconds:.2f} CPU s", "< 1 CPU s", seconds < 1.0),
        (f"{name}: rates along it", f"{worst:.1e} from adaptive quadrature", "1e-8", worst < 1e-8),
    ]


def main() -> int:
    rows = [*population_flow(), marginals()]
    for what, measured, bound, met in rows:
        print(f"{'ok  ' if met else 'MISS'}  {what}: {measured}  (must be {bound})")
    return 0 if all(met for *_, met in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
