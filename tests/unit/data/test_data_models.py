"""Input models: their spectra, what they refuse, the warning for small multiplicities."""

import math

import numpy as np
import pytest

from symderiv.foundation.errors import InputError, NotYetError
from symderiv.inputs import Component, DataModel, isotropic, mixed_spectra, power_law, spectrum


@pytest.mark.parametrize(("L", "beta"), [(1, 1.0), (4, 1.0), (10, 0.3), (64, 2.5), (5, -1.0)])
def test_power_law_eigenvalues_follow_the_law_and_have_mean_one(L, beta):
    component = power_law(L, beta).single()
    rho = component.eigenvalue
    assert np.mean(rho) == pytest.approx(1.0, rel=1e-14)
    ranks = np.arange(1, L + 1)
    np.testing.assert_allclose(rho * ranks ** (1 + beta), rho[0], rtol=1e-13)
    assert component.weight.sum() == pytest.approx(1.0, abs=1e-15)


def test_spectrum_takes_eigenvalues_as_they_are_and_weights_equal_by_default():
    model = spectrum([2.0, 0.5], dimension=10)
    assert model.single().eigenvalue.tolist() == [2.0, 0.5]
    assert model.multiplicities().tolist() == [5, 5]
    assert spectrum([2.0, 0.5], [0.25, 0.75], 8).multiplicities().tolist() == [2, 6]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: power_law(3, 1.0, 1024), "distinct_eigenvalues: 3"),
        (lambda: power_law(3, math.nan), "exponent"),
        (lambda: power_law(10, 400.0), "exponent"),
        (lambda: spectrum([1.0, -2.0]), "eigenvalues: -2 is negative"),
        (lambda: spectrum([]), "eigenvalues"),
        (lambda: spectrum([0.0, 0.0]), "eigenvalues: all are zero"),
        (lambda: spectrum([1.0, math.inf]), "eigenvalues"),
        (lambda: spectrum([1.0, 2.0], [0.5, 0.6]), "weights: their sum is 1.1"),
        (lambda: spectrum([1.0, 2.0], [1.0]), "weights: 1 given for 2"),
        (lambda: spectrum([1.0, 2.0], [1.0, 0.0]), "weights"),
        (lambda: spectrum([1.0, 2.0, 3.0], dimension=10), "dimension: 10"),
        (lambda: spectrum([1.0, 2.0], [0.3, 0.7], 8).multiplicities(), "data.weights"),
        (lambda: isotropic().multiplicities(), "data.dimension"),
    ],
)
def test_impossible_spectra_are_refused_by_name(make, named):
    with pytest.raises(InputError, match=f"^{named}"):
        make()


def test_several_components_are_representable_but_not_yet_solvable():
    half = Component(0.5, np.ones(1), np.ones(1))
    model = DataModel("mixture", (half, half), 10)
    with pytest.raises(NotYetError, match="2 components"):
        model.single()
    with pytest.raises(InputError, match=r"sum to 0\.5"):
        DataModel("mixture", (half,), 10)


def test_a_warning_states_the_effect_of_small_multiplicities():
    assert power_law(4, 1.0, 1024).warnings() == ()
    assert power_law(1024, 1.0).warnings() == ()
    (warning,) = power_law(1024, 1.0, 1024).warnings()
    assert "only 1 of 1024 coordinates" in warning
    # lambda_1 / N = 1 / sum l^-2
    share = 1.0 / np.sum(np.arange(1, 1025.0) ** -2)
    assert f"{share:.1%}" in warning


def test_the_stated_fluctuation_is_that_of_drawn_vectors():
    model = power_law(16, 1.0, 64)
    rho = np.repeat(model.single().eigenvalue, model.multiplicities())
    seed = 3
    J = np.random.default_rng(seed).standard_normal((40_000, 64))
    overlap = (J**2) @ rho / 64
    measured = np.std(overlap) / np.mean(overlap)
    expected = math.sqrt(2.0 / model.effective_dimension())
    # the standard deviation of 40000 draws of a heavy right tail is known to about 2 %
    assert measured == pytest.approx(expected, rel=0.03), f"seed {seed}"
    assert f"about {expected:.0%}" in model.warnings()[0]


@pytest.mark.parametrize(
    ("probability", "eigenvalue", "weight", "named"),
    [
        (0.0, [1.0], [1.0], "probability: 0.0 is not in"),
        (-0.5, [1.0], [1.0], "probability"),
        (1.1, [1.0], [1.0], "probability"),
        (math.nan, [1.0], [1.0], "probability"),
        (1.0, [[1.0]], [[1.0]], "eigenvalues: must be a list"),
        (1.0, 1.0, 1.0, "eigenvalues: must be a list"),
        (1.0, [], [], "eigenvalues: must be a list"),
        (1.0, [1.0, 2.0], [1.0], "weights: 1 given for 2"),
        (1.0, [1.0, math.inf], [0.5, 0.5], "eigenvalues: must be finite"),
        (1.0, [1.0, -1e-9], [0.5, 0.5], "eigenvalues: -1e-09 is negative"),
        (1.0, [0.0, 0.0], [0.5, 0.5], "eigenvalues: all are zero"),
        (1.0, [1.0, 2.0], [1.0, 0.0], "weights: must be positive"),
        (1.0, [1.0, 2.0], [0.5, 0.5 + 1.5e-9], "weights: their sum"),
    ],
)
def test_impossible_components_are_refused_by_name(probability, eigenvalue, weight, named):
    with pytest.raises(InputError, match=f"^{named}"):
        Component(probability, eigenvalue, weight)


def test_a_component_is_its_own_and_may_have_eigenvalues_of_zero():
    values, weights = np.array([2.0, 0.0]), np.array([0.25, 0.75 + 5e-10])
    one = Component(1.0, values, weights)
    values[0] = 7.0
    assert one.eigenvalue.tolist() == [2.0, 0.0]
    assert not one.eigenvalue.flags.writeable


def test_coordinates_of_each_eigenvalue_are_whole_numbers_of_at_least_one():
    def model(weight, N):
        return DataModel("m", (Component(1.0, np.arange(1.0, 1 + len(weight)), weight),), N)

    assert model([0.25, 0.75], 4).multiplicities().tolist() == [1, 3]
    assert model([0.1, 0.2, 0.7], 10).multiplicities().tolist() == [1, 2, 7]
    # one that is not whole is enough, and it is named, the one that is furthest off
    with pytest.raises(InputError, match=r"0\.3 of 4 coordinates is 1\.2, not a whole"):
        model([0.5, 0.3, 0.2], 4).multiplicities()
    # and not one that has a single coordinate
    with pytest.raises(InputError, match=r"0\.45 of 10 coordinates is 4\.5"):
        model([0.1, 0.45, 0.45], 10).multiplicities()
    # near to none, which rounding would allow
    with pytest.raises(InputError, match="1e-08 of 10 coordinates is 1e-07"):
        model([1e-8, 1 - 1e-8], 10).multiplicities()
    with pytest.raises(InputError, match="missing"):
        model([1.0], None).multiplicities()


def test_the_average_of_components_weighs_their_eigenvalues():
    parts = tuple(
        Component(p, rho, [0.5, 0.5]) for p, rho in ((0.2, [5.0, 1.0]), (0.8, [1.0, 2.0]))
    )
    model = DataModel("mixture", parts, 8)
    assert model.average().eigenvalue == pytest.approx([1.8, 1.8])
    assert model.average().probability == 1.0
    assert model.multiplicities().tolist() == [4, 4]
    # Σρ = N 1.8 squared over N 1.8²
    assert model.effective_dimension() == pytest.approx(8.0)


def test_components_with_their_own_spectra_are_drawn_with_their_own_variances():
    """x of component c has the variance ρ^c, block by block; which one it is, has p_c."""
    p, rho = [0.2, 0.5, 0.3], [[9.0, 0.5], [1.0, 2.0], [0.0, 4.0]]
    model = mixed_spectra(p, rho, [0.25, 0.75], 8)
    assert [c.probability for c in model.components] == p
    assert [c.eigenvalue.tolist() for c in model.components] == rho
    assert model.name == "gaussian-mixture"
    x, seen = model.latent.sampler(np.random.default_rng(0), 40_000)
    np.testing.assert_array_equal(x, seen)
    average = np.repeat(np.array(p) @ np.array(rho), [2, 6])
    np.testing.assert_allclose(np.mean(x**2, axis=0), average, rtol=0.06)
    # a third of the examples is of the component whose first two coordinates vanish
    still = np.all(x[:, :2] == 0.0, axis=1)
    assert still.mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(np.mean(x[still, 2:] ** 2, axis=0), 4.0, rtol=0.1)
    # fourth moments tell a mixture from its average: 3 Σ p ρ²
    fourth = 3 * np.repeat(np.array(p) @ np.array(rho) ** 2, [2, 6])
    np.testing.assert_allclose(np.mean(x**4, axis=0), fourth, rtol=0.15)
    for (probability, variance), own, values in zip(model.latent.spectra, p, rho, strict=True):
        assert probability == own
        np.testing.assert_array_equal(variance, np.repeat(values, [2, 6]))
    np.testing.assert_allclose(model.latent.variance, average)
    # what is seen of a coordinate are its inputs: E[x c] is its variance, and nothing of others
    np.testing.assert_allclose(model.latent.cross, np.diag(average))
    np.testing.assert_allclose(np.repeat(model.latent.share, [2, 6]), average**2)


def test_one_component_and_the_limit_have_no_sampler_and_lists_have_to_fit():
    assert mixed_spectra([1.0], [[1.0, 2.0]], None, 4).latent is None
    assert mixed_spectra([0.5, 0.5], [[1.0], [2.0]]).latent is None
    assert mixed_spectra([0.5, 0.5], [[1.0], [2.0]], None, 4097).latent is None
    assert mixed_spectra([0.5, 0.5], [[1.0], [2.0]], None, 4096).latent is not None
    with pytest.raises(InputError, match="1 lists for 2 probabilities"):
        mixed_spectra([0.5, 0.5], [[1.0]])
    with pytest.raises(InputError, match="share their eigenspaces"):
        mixed_spectra([0.5, 0.5], [[1.0], [2.0, 3.0]])
    with pytest.raises(InputError, match="6 is not a multiple of the 4 eigenvalues"):
        spectrum([1.0, 2.0, 3.0, 4.0], dimension=6)
