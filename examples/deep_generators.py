"""What is known of a deep generator from its cross-covariance Φ alone.

    python examples/deep_generators.py FOLDER

FOLDER holds dcgan_cifar10.npz and dcgan_rand.npz: ``phi`` (3072, 100), E[(x - E x) cᵀ] of a
DCGAN's 3 x 32 x 32 images x and its latent vectors c, ``mean_x``, ``mean_c``; from the code of
Goldt, Reeves, Mézard, Krzakala and Zdeborová (arXiv:2006.14709),
github.com/sgoldt/gaussian-equiv-2layer. Their input covariances Ω are not in the files.

What needs Φ only is computed: the teachers' part B Φᵀ Φ Bᵀ/N, R = J Φ Bᵀ/√(N D) of a given student,
and lower bounds on its Q and on the largest eigenvalues of Ω. Learning curves need Ω and are
refused; with ``--made-up-omega NOISE`` they are computed for Ω = Φ Φᵀ + NOISE · I, which is no
generator's covariance, and labelled so.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from symderiv.foundation.errors import InputError

#: Squared Frobenius norm, largest singular values, squared norm of the mean, as published with the
#: files; they show that a file was read as it was meant.
EXPECTED = {
    "dcgan_cifar10.npz": (243.99, (11.158, 6.2149, 4.6923), 14.923),
    "dcgan_rand.npz": (150.75, (1.5633, 1.5491, 1.5296), 689.27),
}
NO_OMEGA = (
    "omega: not in the files; Q, the inputs' spectrum and learning curves cannot be computed. "
    "--made-up-omega NOISE computes them for a covariance that is not this generator's"
)


def load(path: Path) -> dict[str, np.ndarray]:
    """Arrays of a file in double precision.

    Raises:
        InputError: there is no such file, or an array is missing or not as expected.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name].astype(np.float64) for name in ("phi", "mean_x", "mean_c")}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (KeyError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
    N, D = arrays["phi"].shape
    if arrays["mean_x"].shape != (N,) or arrays["mean_c"].shape != (D,):
        raise InputError(f"{path.name}: mean_x and mean_c do not fit phi of shape {(N, D)}")
    if not all(np.all(np.isfinite(array)) for array in arrays.values()):
        raise InputError(f"{path.name}: holds a value that is not a finite number")
    return arrays


def check(name: str, arrays: dict[str, np.ndarray]) -> list[tuple[str, float, float, bool]]:
    """What was found, what it must be, and whether they agree in all printed digits."""
    norm, singular, mean = EXPECTED[name]
    phi = arrays["phi"]
    found = np.linalg.svd(phi, compute_uv=False)
    lines = [("||phi||^2", float(np.sum(phi**2)), norm)]
    lines += [(f"singular value {k + 1}", float(found[k]), s) for k, s in enumerate(singular)]
    lines += [
        ("tr(phi phi^T)/N", float(np.sum(phi**2)) / len(phi), norm / len(phi)),
        ("||mean_x||^2", float(np.sum(arrays["mean_x"] ** 2)), mean),
    ]
    return [(what, value, must, abs(value / must - 1.0) < 1e-4) for what, value, must in lines]


def teacher_part(phi: np.ndarray, B: np.ndarray) -> np.ndarray:
    """B Φᵀ Φ Bᵀ/N, shape (M, M): the sum over eigenvalues of the teachers' overlaps t_k."""
    seen = phi @ B.T
    part: np.ndarray = seen.T @ seen / len(phi)
    return part


def cross_overlap(phi: np.ndarray, J: np.ndarray, B: np.ndarray) -> np.ndarray:
    """R = J Φ Bᵀ/√(N D), shape (K, M)."""
    N, D = phi.shape
    R: np.ndarray = J @ phi @ B.T / np.sqrt(N * D)
    return R


def report(name: str, arrays: dict[str, np.ndarray]) -> bool:
    """Print what the file says; whether it is the published one."""
    phi = arrays["phi"]
    N, D = phi.shape
    print(f"{name}: N = {N}, D = {D}")
    agree = True
    for what, value, must, same in check(name, arrays):
        agree = agree and same
        print(f"  {what:18}{value:12.6g}  published {must:<10.5g}{'' if same else '  DIFFERS'}")
    noise = float(np.sqrt(np.mean(arrays["mean_c"] ** 2)))
    if noise > 0.0:
        print(f"  mean_c, 0 but for sampling: size {noise:.1e}, that of {noise**-2:.0e} samples")
    random = np.random.default_rng(0)
    B, J = random.standard_normal((2, D)), random.standard_normal((2, N))
    print("  two teachers and two students with normal entries, seed 0")
    print(f"  teachers' part   {_matrix(teacher_part(phi, B))}")
    print(f"  R                {_matrix(cross_overlap(phi, J, B))}")
    print(f"  T                {_matrix(B @ B.T / D)}")
    # inputs know no more about c than all of it: Omega - Phi Phi^T has no negative eigenvalue
    least = (J @ phi) @ (J @ phi).T / N
    print(f"  Q is at least    {_matrix(least)}, as Omega - Phi Phi^T is a covariance")
    values = np.linalg.svd(phi, compute_uv=False)[:3] ** 2
    bounds = ", ".join(f"{value:.5g}" for value in values)
    print(f"  and the largest eigenvalues of Omega are at least {bounds}")
    return agree


def _matrix(values: np.ndarray) -> str:
    rows = ("[" + ", ".join(f"{value:.5f}" for value in row) + "]" for row in values)
    return "[" + ", ".join(rows) + "]"


STUDY = """
[network]
activation = "erf"
students = 2
teachers = 2
[data]
model = "generator"
file = "made-up.npz"
[training]
learning_rate = 0.2
[initial]
student_std = 0.5
[time]
values = [0, 1, 10, 100, 1000]
"""


def made_up(arrays: dict[str, np.ndarray], noise: float) -> None:
    """The equations for Ω = Φ Φᵀ + noise · I, with every line labelled."""
    from symderiv.integrate.rules.solving import solve
    from symderiv.problem.study import parse_study

    phi = arrays["phi"]
    omega = phi @ phi.T + noise * np.eye(len(phi))
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "made-up.npz", omega=omega, phi=phi)
        result = solve(parse_study(STUDY, Path(folder)))
    label = "  MADE-UP OMEGA, not this generator:"
    print(f"{label} phi phi^T + {noise:g} identity")
    for alpha, error in zip(result.alpha, result.generalization_error, strict=True):
        print(f"{label} alpha = {alpha:g}, generalisation error {error:.6f}")


def main() -> int:
    parser = argparse.ArgumentParser(description="What Phi alone tells about a deep generator.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--curves", action="store_true", help="learning curves (refused)")
    parser.add_argument("--made-up-omega", type=float, metavar="NOISE")
    arguments = parser.parse_args()
    agree = True
    try:
        for name in EXPECTED:
            arrays = load(arguments.folder / name)
            agree = report(name, arrays) and agree
            if arguments.made_up_omega is not None:
                if not arguments.made_up_omega > 0.0:
                    raise InputError("--made-up-omega: NOISE must be positive")
                made_up(arrays, arguments.made_up_omega)
            elif arguments.curves:
                raise InputError(NO_OMEGA)
    except InputError as error:
        print(f"deep_generators: error: {error}", file=sys.stderr)
        return 2
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
