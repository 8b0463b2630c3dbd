"""examples/deep_generators.py: what it computes from Phi, and what it refuses."""

import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.examples import importing

from symderiv.inputs import generator


@pytest.fixture(scope="module")
def example() -> Any:
    with importing() as load:
        yield load("deep_generators")


def _write(folder: Path, N: int = 12, D: int = 5) -> np.ndarray:
    random = np.random.default_rng(1)
    phi = 0.3 * random.standard_normal((N, D))
    for name in ("dcgan_cifar10.npz", "dcgan_rand.npz"):
        np.savez(folder / name, phi=phi, mean_x=np.ones(N), mean_c=1e-4 * np.ones(D))
    return phi


def test_what_needs_phi_only_is_the_same_for_any_omega(example: Any, tmp_path: Path) -> None:
    """Sums over the eigenvalues of two different Omega, by the data model."""
    phi = _write(tmp_path)
    N, D = phi.shape
    random = np.random.default_rng(2)
    B, J = random.standard_normal((3, D)), random.standard_normal((2, N))
    noise = random.standard_normal((N, N))
    for rest in (0.1 * np.eye(N), noise @ noise.T):
        omega = phi @ phi.T + rest
        np.savez(tmp_path / "g.npz", omega=omega, phi=phi)
        latent = generator(tmp_path / "g.npz").latent
        assert latent is not None
        assert latent.axes is not None
        assert latent.cross is not None
        teachers = B @ latent.cross.T
        # the part is B Phi^T Phi B^T / N, phi_n is sqrt(N/D) Phi W_n
        part = teachers @ teachers.T / N * D / N
        assert part == pytest.approx(example.teacher_part(phi, B), rel=1e-10)
        R = (J @ latent.axes) @ teachers.T / N
        assert pytest.approx(example.cross_overlap(phi, J, B), rel=1e-10) == R
        Q = J @ omega @ J.T / N
        least = (J @ phi) @ (J @ phi).T / N
        assert np.linalg.eigvalsh(Q - least).min() > 0.0


def _run(example: Any, *words: object) -> int:
    with patch.object(sys, "argv", ["deep_generators", *map(str, words)]):
        return int(example.main())


def test_other_numbers_than_the_published_ones_are_told(
    example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path)
    assert _run(example, tmp_path) == 1
    assert "DIFFERS" in capsys.readouterr().out


def test_curves_are_refused_and_a_made_up_omega_is_labelled(
    example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path)
    assert _run(example, tmp_path, "--curves") == 2
    assert "omega: not in the files" in capsys.readouterr().err
    _run(example, tmp_path, "--made-up-omega", "0.5")
    lines = [line for line in capsys.readouterr().out.splitlines() if "generalisation" in line]
    assert len(lines) == 10
    assert all("MADE-UP OMEGA" in line for line in lines)
