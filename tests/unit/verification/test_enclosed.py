"""Claims on activations without closed means: certified quadrature decides, and says how far."""

from pathlib import Path

import pytest
from flint import arb
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.papers.paper_file import paper_from_toml
from symderiv_ledger.papers.paper_run import Selection, verify_paper
from symderiv_ledger.rules.comparison_rules import Enclosed
from symderiv_ledger.rules.learning_rates import LearningRates, _ExampleMeans

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.contexts import numbers

pytestmark = pytest.mark.turns(6)

#: E[tanh(x1) x2] = C12 E[1 - tanh(x1)^2], Stein's lemma; E[x1 x2 sigmoid(x1)] = C12/2 because
#: sigmoid(x) + sigmoid(-x) = 1.
STEIN = (
    "I == C[1, 2]*Integral((1 - tanh(sqrt(C[1, 1])*x)**2)*exp(-x**2/2)/sqrt(2*pi), (x, -oo, oo))"
)


def _claim(equation: str, body: str) -> str:
    return f"[[claim]]\nequation = '{equation}'\n{body}\n"


def _file(tmp_path: Path, *bodies: str) -> str:
    path = tmp_path / "mine.toml"
    claims = (_claim(str(k + 1), body) for k, body in enumerate(bodies))
    path.write_text("title = 'Mine'\n" + "".join(claims))
    return str(path)


def test_formulas_of_tanh_and_silu_are_decided_and_bad_claims_stop_nothing(tmp_path: Path) -> None:
    mean = "reference = 'expectation'\nexpression = '{}'\n{}"
    path = _file(
        tmp_path,
        mean.format("tanh(x1)*x2", f"digits = 12\nstatement = '{STEIN}'"),
        mean.format("x1/(1+exp(-x1))*x2", "formula = 'c12/2'"),
        mean.format("x1/(1+exp(-x1))*x2", "formula = 'c12/2*(1 + c12/10^4)'"),
        "reference = 'plateau'\nactivation = 'tanh'\nstatement = 'R == 1'",
        mean.format("exp(x1**2)*x2**2", "formula = 'c22'"),
        "reference = 'learning'\nactivation = 'tanh'\norder = 'small-learning-rate'\n"
        "ranges = 'i = 1..K, k = 1..K'\nstatement = 'dQ[i, k] == dQ[k, i]'",
        mean.format("erf(x1)*x2", "formula = '2*c12/sqrt(pi*(1 + 2*c11))'"),
    )
    found = verify_paper(path, processes=1)
    verdicts = [record["verdict"] for record in found]
    assert verdicts == [
        *("holds", "holds", "unsettled", "not-checkable", "not-checkable", "holds", "holds"),
    ]
    for record in (found[0], found[1], found[5]):
        assert "digits that quadrature reached" in record["evidence"][0]["summary"]
        assert int(record["evidence"][0]["details"]["digits reached"]) >= 9
        assert record["arithmetic"].startswith("balls of python-flint ")
    (again,) = verify_paper(path, Selection(equation="2", mutants=True), processes=1)
    assert again["mutants"]["caught"] == again["mutants"]["wanted"] > 3
    example = found[2]["evidence"][0]["counterexample"]
    assert example["point"].startswith("generic: C = [")
    assert example["left"] != example["right"]
    assert "no closed form" in found[3]["note"]
    assert "could not be computed" in found[4]["note"]
    assert found[6]["arithmetic"].startswith("mpmath ")


def _tested(left: object, relation: str, digits: int = 20) -> object:
    with numbers(digits, "arb") as balls:
        point = Point("here", {"I": left, "x": arb("0.5")})
        return Enclosed(digits).test(parse_statement(f"I {relation} x"), "", [point], balls)


def test_balls_refute_hold_or_say_nothing() -> None:
    right = _tested(arb("0.5", 1e-9), "==")
    assert right.passed
    assert right.details["digits reached"] == "8"
    assert not _tested(arb("0.501", 1e-9), "==").passed
    assert _tested(arb("0.4", 1e-2), "<").passed
    assert not _tested(arb("0.6", 1e-2), "<").passed
    with pytest.raises(ToleranceError, match="too large"):
        _tested(arb("0.5", 1e-2), "<")
    with pytest.raises(ToleranceError, match="only 1 digits"):
        _tested(arb("0.5", 1e-2), "==")


def test_enclosed_rates_contain_those_of_the_moment_form() -> None:
    """erf has both: the definition of the update by quadrature, and the derived equations."""
    rates = LearningRates("erf", "erf", True, 20)
    with numbers(30, "mpmath") as context:
        point = next(iter(rates.points(context)))
        known = point.values
        K, M = known["K"], known["M"]
        fields = [("Q", i, k) for i in range(1, K + 1) for k in range(1, K + 1)]
        closed = {key: known[f"d{key[0]}"][key[1:]] for key in fields}
        closed |= {("R", i, n): known["dR"][i, n] for i in range(1, K + 1) for n in range(1, M + 1)}
        gram = [
            [float(known["Q"][i, k]) for k in range(1, K + 1)]
            + [float(known["R"][i, n]) for n in range(1, M + 1)]
            for i in range(1, K + 1)
        ]
        gram += [
            [float(known["R"][i, n]) for i in range(1, K + 1)]
            + [float(known["T"][n, m]) for m in range(1, M + 1)]
            for n in range(1, M + 1)
        ]
        weights = [
            [float(known[name][(i,)]) for i in range(1, size + 1)]
            for name, size in (("v", K), ("w", M))
        ]
        eta = float(known["eta"])
    with numbers(20, "arb") as balls:
        example = _ExampleMeans("erf", "erf", gram, *weights, balls, 8)
        slow = LearningRates("erf", "erf", False, 20)
        assert slow.full is False
        i, n = 0, K
        rate = -eta * weights[0][0] * example.force(i, n)
        assert rate.overlaps(arb(str(closed["R", 1, 1])))
        assert float(rate.rad()) < 1e-6 * abs(float(rate))
        drift = -2 * eta * weights[0][0] * example.force(0, 0)
        noise = eta**2 * weights[0][0] ** 2 * example.square(0, 0)
        assert (drift + noise).overlaps(arb(str(closed["Q", 1, 1])))
        assert not drift.overlaps(arb(str(closed["Q", 1, 1])))


def test_reading_a_file_computes_nothing() -> None:
    text = _claim("1", "reference = 'i4'\nactivation = 'tanh'\ndigits = 200\nformula = 'c12'")
    (claim,) = paper_from_toml(text, "x.toml").claims
    assert claim.rule is not None
