"""The law of fields against covariances of the inner products of drawn vectors."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.foundation.errors import NotClosed
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.register import Field, Overlap

HALF, FIFTH = sp.Rational(1, 2), sp.Rational(1, 5)
MATRIX = [[1, HALF, 0, 0], [HALF, 1, FIFTH, 0], [0, FIFTH, 1, 0], [0, 0, 0, 1]]


def _said() -> tuple[sd.System, dict[str, Any]]:
    P = sd.System()
    names = {
        "x": P.inputs("x"),
        "y": P.inputs("y", length=4, correlation=MATRIX),
        "l": P.inputs("l", length=2),
        "e": P.inputs("e", episode=3),
        "s": P.inputs("s", sd.Spectrum([2.0, 0.5], weights=[0.25, 0.75])),
        "w": P.vectors("w", 2),
        "B": P.vectors("B", fixed=True),
        "g": P.latents("g"),
        "c": P.latents("c", "rademacher"),
        "u": P.scalars("u"),
    }
    return P, names


def _copies(P: sd.System) -> tuple[Any, ...]:
    return next(each.atoms for each in P.statement.inputs if each.name == "e")


def test_covariances_of_forms_are_those_of_drawn_inputs() -> None:
    """The forms as linear maps of independent normal numbers, one for each coordinate."""
    P, said = _said()
    law, N = FieldLaw(P.statement), 6
    random = np.random.default_rng(8)
    w, B = random.normal(size=(2, N)), random.normal(size=N)
    vectors = {"w1": w[0], "w2": w[1], "B": B}
    root = np.linalg.cholesky(np.array(MATRIX, dtype=float))
    x, y, e = said["x"], said["y"], _copies(P)
    forms = [
        2 * (said["w"][0] @ x) - said["B"] @ x + said["u"] + 3,
        (said["w"][1] @ y[0]) + (said["B"] @ y[2]) / 2 - said["g"],
        (said["w"][0] @ y[1]) * said["u"] + (said["B"] @ y[3]),
        (said["w"][0] @ e[0]) - (said["w"][0] @ e[1]) + 4 * said["g"],
        said["w"][1] @ e[1] - (said["B"] @ said["l"][1]),
        said["B"] @ said["l"][0] + (said["B"] @ said["l"][1]) + (said["w"][1] @ x),
    ]
    noises = ["x", "y1", "y2", "y3", "y4", "e1", "e2", "e3", "l1", "l2"]
    number = 0.7

    def row(form: sp.Expr) -> np.ndarray:
        """Coefficients of the normal numbers in a form; the last is that of g."""
        found = np.zeros(len(noises) * N + 1)
        for symbol in form.free_symbols - {said["u"]}:
            slope = float(sp.diff(form, symbol).subs(said["u"], number))
            meaning = P.statement.symbols.meaning.get(symbol)
            if symbol == said["g"]:
                found[-1] += slope
            elif isinstance(meaning, Field):
                vector = vectors[meaning.vector.name] / np.sqrt(N)
                name = meaning.input.name
                shares = {name: 1.0}
                if name.startswith("y"):
                    shares = {f"y{n + 1}": root[int(name[1]) - 1, n] for n in range(4)}
                for noise, share in shares.items():
                    place = noises.index(noise) * N
                    found[place : place + N] += slope * share * vector
        return found

    rows = np.array([row(form) for form in forms])
    matrix, means = law.moments(forms)
    overlaps = {
        s: vectors[m.first.name] @ vectors[m.second.name] / N
        for s, m in P.statement.symbols.of(Overlap).items()
    }
    values = {**overlaps, said["u"]: number}
    found = [[float(each.subs(values)) for each in row] for row in matrix]
    np.testing.assert_allclose(found, rows @ rows.T, atol=1e-12)
    assert means == [said["u"] + 3, 0, 0, 0, 0, 0]


def test_fields_that_are_independent_are_in_different_blocks() -> None:
    P, said = _said()
    law, e, B = FieldLaw(P.statement), _copies(P), said["B"]
    fields = [B @ atom for atom in (*said["y"], *said["l"], *e, said["x"])] + [said["g"]]
    # three tokens form a chain, so the first and the third are in one block too
    wanted = [{0, 1, 2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}]
    found = [{fields.index(s) for s in block} for block in law.blocks(fields)]
    assert sorted(found, key=min) == wanted
    assert law.block(B @ said["y"][2]) == law.block(said["w"][0] @ said["y"][0])


def test_a_spectrum_gives_covariances_names_and_a_trace() -> None:
    P, said = _said()
    law = FieldLaw(P.statement)
    w, B, s = said["w"], said["B"], said["s"]
    one, other = law.covariance(w[0] @ s, B @ s), law.covariance(B @ s, w[0] @ s)
    assert one == other != w[0].dot(B)
    assert law.covariance(w[0] @ said["x"], B @ said["x"]) == w[0].dot(B)
    meaning = law.covariances[one]
    assert (meaning.inputs, meaning.first, meaning.second) == (("s",), w[0], B)
    assert law.covariance(w[1] @ s, w[0] @ s) == law.covariance(w[0] @ s, w[1] @ s)
    assert (law.isotropic("x"), law.isotropic("s")) == (True, False)
    assert law.trace("x") == 1
    assert law.trace("s") != law.trace("x")


def test_a_mixture_is_its_components_one_at_a_time() -> None:
    """Four cases of two mixtures; a field becomes one of a component of its own inputs only."""
    P = sd.System()
    quarter, fifth = sp.Rational(1, 4), sp.Rational(1, 5)
    spectra = [[2.0, 0.5], [0.3, 1.4]]
    x = P.inputs("x", sd.GaussianMixture(probabilities=[0.25, 0.75], eigenvalues=spectra))
    y = P.inputs("y", sd.GaussianMixture(probabilities=[0.2, 0.8], eigenvalues=spectra[::-1]))
    z, w, B = P.inputs("z"), P.vectors("w"), P.vectors("B", fixed=True)
    law = FieldLaw(P.statement)
    chances = [case.probability for case in law.cases]
    assert sorted(chances) == sorted(
        [a * b for a in (quarter, 3 * quarter) for b in (fifth, 4 * fifth)]
    )
    assert [each.name for each in law.gaussian_inputs] == ["z", "x__1", "x__2", "y__1", "y__2"]
    expression = (w @ x) * (w @ y) * (w @ z)
    seen = set()
    for case in law.cases:
        fields = law.gaussian(case.of(expression))
        names = tuple(law.symbols.meaning[f].input.source for f in fields)
        seen.add(names)
        assert names[-1] == "z"
        variance = law.covariance(fields[0], fields[0])
        assert law.covariances[variance].inputs == (names[0],)
        assert law.covariance(fields[0], fields[1]) == 0
    assert seen == {(a, b, "z") for a in ("x__1", "x__2") for b in ("y__1", "y__2")}
    both = law.covariance_of_vectors(("y__1", "x__2"), B, w)
    assert law.covariances[both].inputs == ("x__2", "y__1")
    assert both == law.covariance_of_vectors(("x__2", "y__1"), w, B)
    assert law.covariance_of_vectors(("z",), w, B) == w.dot(B)


def test_steps_in_time_have_one_symbol_each() -> None:
    P = sd.System()
    x, w, T = P.inputs("x"), P.vectors("w"), P.parameter("T", 2)
    law, after = FieldLaw(P.statement), P.alpha - T
    step, sign = sp.Heaviside(after), sp.sign(2 * P.alpha - 1)
    expression = step * (w @ x) + sign + sp.sign(w @ x) + step * P.alpha
    timed = law.timed(expression)
    (first,) = (s for s, place in law.jumps.items() if place == after)
    (second,) = (s for s, place in law.jumps.items() if place == 2 * P.alpha - 1)
    assert timed == first * (w @ x) + 2 * second - 1 + sp.sign(w @ x) + first * P.alpha
    assert law.timed(step) == first
    assert len(law.jumps) == 2
    with pytest.raises(NotClosed, match="no linear equation gives"):
        law.timed(sp.Heaviside(P.alpha**2 - 1))
