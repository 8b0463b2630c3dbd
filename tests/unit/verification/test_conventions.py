"""Output weights that a print leaves out: what it means, and what is said where that fails."""

from typing import Any

import pytest
from symderiv_ledger.papers.paper_file import paper_from_toml
from symderiv_ledger.papers.verify import UnsettledError, verify_claim

from symderiv.foundation.errors import InputError
from symderiv.precision.balls.contexts import numbers

FILE = """
[indices]
"i, j" = "1..K"
"n, m" = "1..M"
[let]
"width(c, a, b)" = "sqrt((1 + a)*(1 + b) - c**2)"
"arc(c, a, b)" = "asin(c/sqrt((1 + a)*(1 + b)))"
[[equation]]
number = "9"
reference = "learning"
activation = "erf"
order = "small-learning-rate"
"""
#: Saad and Solla's (9) and their error, as they print them: without output weights.
RATE = """
statement = '''dR[i, n] == eta*2/pi/(1 + Q[i, i])*(
  Sum((T[n, m]*(1 + Q[i, i]) - R[i, n]*R[i, m])/width(R[i, m], Q[i, i], T[m, m]), m)
  - Sum((R[j, n]*(1 + Q[i, i]) - R[i, n]*Q[i, j])/width(Q[i, j], Q[i, i], Q[j, j]), j))'''
"""
ERROR = """
statement = '''eps_g == (Sum(arc(Q[i, j], Q[i, i], Q[j, j]), i, j)
  + Sum(arc(T[n, m], T[n, n], T[m, m]), n, m) - 2*Sum(arc(R[i, n], Q[i, i], T[n, n]), i, n))/pi'''
"""
MEANS = """
statement = '''eps_g == (Sum(arc(Q[i, j], Q[i, i], Q[j, j]), i, j)/K**2 + Sum(arc(T[n, m], T[n, n],
  T[m, m]), n, m)/M**2 - 2*Sum(arc(R[i, n], Q[i, i], T[n, n]), i, n)/(K*M))/pi'''
"""


def _verdict(text: str) -> Any:
    (claim,) = paper_from_toml(text, "ours.toml").claims
    return verify_claim(claim)


@pytest.mark.parametrize("statement", [RATE, ERROR])
def test_a_print_without_output_weights_means_that_they_are_one(statement: str) -> None:
    found = _verdict(FILE + statement)
    assert found.verdict == "holds"
    assert "output weights v = w = 1, of which the statement has none" in found.claim.regime
    with numbers(30, "mpmath") as context:
        for point in found.claim.points(context):
            sizes = {"v": point.values["K"], "w": point.values["M"]}
            for name, size in sizes.items():
                assert [point.values[name][k,] for k in range(1, size + 1)] == [1] * size


def test_a_print_with_output_weights_is_tried_at_others_than_one() -> None:
    found = _verdict(FILE + "statement = 'dR[i, n]*v[i] == v[i]*dR[i, n]'")
    assert "output weights" not in found.claim.regime
    with numbers(30, "mpmath") as context:
        points = list(found.claim.points(context))
        for name in ("v", "w"):
            assert sum(point.values[name][1,] != 1 for point in points) > 2


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            RATE.replace("- Sum", "+ Sum"),
            "it fails with output weights v = w = 1, and with any output weights v, w, with output "
            "weights v = 1/sqrt(K), w = 1/sqrt(M), with output weights v = 1/K, w = 1/M)",
        ),
        (
            MEANS,
            "it fails with output weights v = w = 1 and holds with output weights v = 1/K, "
            "w = 1/M: see weights",
        ),
        (
            RATE.replace("eta*2", "eta*v[i]**2*2"),
            "it fails with any output weights v, w and holds with output weights v = w = 1: see",
        ),
    ],
)
def test_the_convention_that_failed_is_said(statement: str, said: str) -> None:
    with pytest.raises(UnsettledError) as failed:
        _verdict(FILE + statement)
    assert said in str(failed.value)


def test_a_file_may_say_which_output_weights_it_means() -> None:
    assert _verdict(f"{FILE}weights = '1/K'\n{MEANS}").verdict == "holds"
    scaled = MEANS.replace("K**2", "K").replace("M**2", "M").replace("(K*M)", "sqrt(K*M)")
    assert _verdict(f"{FILE}weights = '1/sqrt(K)'\n{scaled}").verdict == "holds"
    with pytest.raises(UnsettledError, match="fails with any output weights"):
        _verdict(f"{FILE}weights = 'any'\n{ERROR}")
    with pytest.raises(InputError, match="weights must be one of any, one"):
        _verdict(f"{FILE}weights = '1/M'\n{ERROR}")
    with pytest.raises(InputError, match="no points with output weights v = 1/K"):
        _verdict(f"{FILE}weights = '1/K'\n{ERROR}".replace('"erf"', '"tanh"'))


def test_the_plateau_is_known_for_both_conventions() -> None:
    plateau = """
[[equation]]
number = "plateau"
reference = "plateau"
activation = "erf"
teachers = "isotropic"
statement = "eps_g == M/pi*(pi/6 - M*asin(1/(2*M)))"
"""
    assert _verdict(f"{plateau}weights = '1'").verdict == "holds"
    with pytest.raises(UnsettledError, match=r"holds with output weights 1: see weights"):
        _verdict(plateau)
    with numbers(30, "mpmath") as context:
        times = [
            [point.values["tau"] for point in _verdict(text).claim.points(context)]
            for text in (f"{plateau}weights = '1'", plateau.replace("eps_g", "M*eps_g"))
        ]
    # the gradient of every unit is larger by the square of its output weight
    for units, one, normalised in zip((2, 3, 5, 12), *times, strict=True):
        assert float(normalised / one) == pytest.approx(units)
