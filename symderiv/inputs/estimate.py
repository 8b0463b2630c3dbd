r"""Covariances Ω and Φ of a generator c -> x estimated from samples, with standard errors.

With latent vectors c ~ N(0, I_D) the linear part of x is known to be uncorrelated with the rest: x
= m + Φ c + r, E r = 0, E[r cᵀ] = 0, hence Ω = Φ Φᵀ + E[r rᵀ]. Mean and Φ are therefore estimated by
least squares, and Ω as Φ Φᵀ plus the covariance of the residuals. Fluctuations of the sampled c
cancel (an affine generator is estimated exactly), and the two estimates are always consistent: Φ
never determines c better than inputs of covariance Ω can, unlike with plain averages of x xᵀ and x
cᵀ. Only if x itself hardly fluctuates (|x_i| = 1) the plain average would be better.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output, as_output
from symderiv.inputs.blas_threads import one_blas_thread
from symderiv.inputs.latent_teacher import Sampler

#: Latent vectors (count, D) to outputs (count, N), row by row.
GeneratorFunction = Callable[[np.ndarray], np.ndarray]

#: The default size of a block: numbers N x count.
_BLOCK_NUMBERS = 1 << 20
#: Up to this N several threads are slower than one for a product if other programs run.
_SMALL = 512


@dataclass(frozen=True, eq=False)
class GeneratorStatistics:
    """The statistics of a generator's outputs that the equations need, estimated from samples.

    Args:
        omega: Ω = E[(x - E x)(x - E x)ᵀ], shape (N, N); a covariance.
        phi: Φ = E[x cᵀ], shape (N, D).
        mean_x: E x, shape (N,).
        omega_error, phi_error, mean_error: standard errors of the entries, same shapes.
        samples: the number of samples.
        target: the relative error asked for; None if the number of samples was fixed instead.
    """

    omega: np.ndarray
    phi: np.ndarray
    mean_x: np.ndarray
    omega_error: np.ndarray
    phi_error: np.ndarray
    mean_error: np.ndarray
    samples: int
    target: float | None = None

    @property
    def relative_error_omega(self) -> float:
        """Root of the sum of squared standard errors over the Frobenius norm of Ω."""
        return float(np.linalg.norm(self.omega_error) / np.linalg.norm(self.omega))

    @property
    def relative_error_phi(self) -> float:
        """Relative error of Φ, defined as ``relative_error_omega``; infinite if Φ is zero."""
        size = float(np.linalg.norm(self.phi))
        return float(np.linalg.norm(self.phi_error)) / size if size > 0.0 else math.inf

    @property
    def converged(self) -> bool:
        """True if both relative errors are at most the target; False without a target."""
        reached = max(self.relative_error_omega, self.relative_error_phi)
        return self.target is not None and reached <= self.target

    def samples_for(self, relative_error: float) -> int:
        """Return the number of samples that would give both relative errors (law 1/√samples)."""
        reached = max(self.relative_error_omega, self.relative_error_phi)
        return math.ceil(self.samples * (reached / relative_error) ** 2)

    def __str__(self) -> str:
        N, D = self.phi.shape
        text = (
            f"N = {N}, D = {D}, {self.samples} samples: relative standard error "
            f"{self.relative_error_omega:.2g} of omega, {self.relative_error_phi:.2g} of phi; "
            f"largest of an entry {self.omega_error.max():.2g} (omega), "
            f"{self.phi_error.max():.2g} (phi), {self.mean_error.max():.2g} (mean)"
        )
        if self.target is None:
            return text
        if self.converged:
            return f"{text}; converged to {self.target:g}"
        needed = self.samples_for(self.target)
        return f"{text}; not converged to {self.target:g}, about {needed} samples would be needed"

    def save(self, path: Path | Output) -> None:
        """Write an .npz file that ``data.model = "generator"`` reads.

        Arrays: ``omega``, ``phi``, ``mean_x``, their standard errors ``omega_error``,
        ``phi_error``, ``mean_error``, and ``estimate`` of shape (1, 3): number of samples, relative
        errors of Ω and Φ.
        """
        estimate = [[self.samples, self.relative_error_omega, self.relative_error_phi]]
        target = as_output(path, "npz")
        content = io.BytesIO()
        np.savez_compressed(
            content,
            omega=self.omega,
            phi=self.phi,
            mean_x=self.mean_x,
            # standard errors need no more than single precision
            omega_error=self.omega_error.astype(np.float32),
            phi_error=self.phi_error.astype(np.float32),
            mean_error=self.mean_error.astype(np.float32),
            estimate=np.array(estimate),
        )
        target.write(content.getvalue())


def estimate_generator(
    function: GeneratorFunction,
    latent_dimension: int,
    *,
    samples: int = 100_000,
    relative_error: float | None = None,
    seed: int = 0,
    block: int | None = None,
) -> GeneratorStatistics:
    """Estimate Ω, Φ and E x of a generator's outputs, by sampling in blocks.

    Standard errors are those of the large-sample limit, from the fourth moments of the samples,
    with samples - D - 1 in place of samples.

    Args:
        function: latent vectors (count, D), independent normal numbers, to outputs (count, N),
            row by row; the same row must give the same output.
        latent_dimension: D.
        samples: the number of samples, or its maximum if ``relative_error`` is given; at least 2 (D
            + 1).
        relative_error: stop when the relative standard errors of Ω and Φ are at most this.
        seed: the seed of the latent vectors.
        block: samples per call of ``function``; by default 2^20 numbers of output.

    Raises:
        InputError: too few samples, or outputs that are not finite numbers of one shape.
    """
    D = latent_dimension
    if D < 1:
        raise InputError(f"{D} is below 1", argument="latent_dimension")
    least = 2 * (D + 1)
    if samples < least:
        raise InputError(
            f"{samples} is below 2 (latent_dimension + 1) = {least}", argument="samples"
        )
    if relative_error is not None and not relative_error > 0.0:
        raise InputError(f"{relative_error!r} is not a positive number", argument="relative_error")
    random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    # The first samples fix a provisional linear part; sums are over the residuals, so that they do
    # not cancel, and the variance of the estimate of an entry can be summed as well.
    first = min(samples, max(least, 10 * D))
    c = random.standard_normal((first, D))
    x = _outputs(function, c, None)
    N = x.shape[1]
    size = block or max(256, _BLOCK_NUMBERS // N)
    with one_blas_thread() if N <= _SMALL else nullcontext():
        sums = _Sums(*_fit(x, c))
        sums.add(x, c)
        while sums.count < samples:
            c = random.standard_normal((min(size, samples - sums.count), D))
            sums.add(_outputs(function, c, N), c)
            if relative_error is not None and sums.count < samples and sums.count >= 20 * D:
                statistics = sums.statistics(relative_error)
                if statistics.converged:
                    return statistics
        return sums.statistics(relative_error)


def generator_sampler(
    function: GeneratorFunction, latent_dimension: int, mean_x: np.ndarray
) -> Sampler:
    """Return a generator's own centred outputs, with their latent vectors, for simulations.

    :func:`symderiv.experiment.studies.simulating.with_sampler` puts it in place of the Gaussian
    inputs that ``data.model = "generator"`` draws. The function is called from several threads at
    once.

    Args:
        function: see :func:`estimate_generator`.
        latent_dimension: D.
        mean_x: the mean to be subtracted, shape (N,).
    """

    def sample(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        c = random.standard_normal((count, latent_dimension))
        return _outputs(function, c, mean_x.size) - mean_x, c

    return sample


def _outputs(function: GeneratorFunction, c: np.ndarray, N: int | None) -> np.ndarray:
    x = np.asarray(function(c))
    if x.ndim != 2 or x.shape[0] != c.shape[0] or (N is not None and x.shape[1] != N):
        wanted = f"({c.shape[0]}, {'N' if N is None else N})"
        raise InputError(
            f"returned the shape {x.shape} for {c.shape}, expected {wanted}", argument="generator"
        )
    if x.dtype.kind not in "biuf" or not np.all(np.isfinite(x)):
        raise InputError("returned a value that is not a finite real number", argument="generator")
    return x.astype(np.float64, copy=False)


def _fit(x: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    design = np.column_stack([np.ones(len(c)), c])
    solution = np.linalg.lstsq(design, x, rcond=None)[0]
    return solution[0], np.ascontiguousarray(solution[1:].T)


class _Sums:
    """Sums over samples of products of the residuals x - mean - slope c with c, and of squares."""

    def __init__(self, mean: np.ndarray, slope: np.ndarray) -> None:
        N, D = slope.shape
        self.mean, self.slope = mean, slope
        self.count = 0
        self.c, self.cc = np.zeros(D), np.zeros((D, D))
        self.r, self.rc, self.rr = np.zeros(N), np.zeros((N, D)), np.zeros((N, N))
        self.fourth, self.second = np.zeros((N, N)), np.zeros((N, D))

    def add(self, x: np.ndarray, c: np.ndarray) -> None:
        linear = c @ self.slope.T
        r = x - self.mean - linear
        self.count += len(c)
        self.c += c.sum(axis=0)
        self.cc += c.T @ c
        self.r += r.sum(axis=0)
        self.rc += r.T @ c
        self.rr += r.T @ r
        # With x = l + r, a sample changes the estimate of Ω_ij by l_i r_j + r_i l_j + r_i r_j, and
        # that of Φ_ia by r_i c_a; these are the sums of squares.
        squares = r**2
        cross = ((linear + 0.5 * r) ** 2).T @ squares
        product = (r * (linear + 0.5 * r)).T @ (r * (linear + 0.5 * r))
        self.fourth += cross + cross.T + 2.0 * product
        self.second += squares.T @ c**2

    def statistics(self, target: float | None) -> GeneratorStatistics:
        n, D = self.count, self.c.size
        freedom = n - D - 1
        c_mean, r_mean = self.c / n, self.r / n
        cc = self.cc / n - np.outer(c_mean, c_mean)
        rc = self.rc / n - np.outer(r_mean, c_mean)
        correction = np.linalg.solve(cc, rc.T).T
        slope = self.slope + correction
        mean = self.mean + r_mean - correction @ c_mean
        rest = self.rr / n - np.outer(r_mean, r_mean) - correction @ rc.T
        rest = 0.5 * (rest + rest.T) * (n / freedom)
        variance = np.clip(self.fourth / n - rest**2, 0.0, None)
        return GeneratorStatistics(
            omega=slope @ slope.T + rest,
            phi=slope,
            mean_x=mean,
            omega_error=np.sqrt(variance / freedom),
            phi_error=np.sqrt(self.second / n / freedom),
            mean_error=np.sqrt(np.clip(np.diag(rest), 0.0, None) / freedom),
            samples=n,
            target=target,
        )
