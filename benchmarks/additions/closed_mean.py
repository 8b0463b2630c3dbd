"""A function that formulas may call, with closed means: the second derivative of a bell."""

from benchmarks.additions.addition import Addition, Edit

_KNOWN = "symderiv/formula/known_functions.py"

CLOSED_MEAN = Addition(
    row="function with closed means",
    what="(1 − x²) exp(−x²/2)",
    goal=4,
    edits=(
        Edit(
            _KNOWN,
            "def _logistic(x: float)",
            "def _ricker(x: float) -> float:\n"
            "    return (1.0 - x * x) * math.exp(-0.5 * x * x)\n\n\n"
            "def _logistic(x: float)",
        ),
        Edit(
            _KNOWN,
            '        "relu": Function(',
            '        "ricker": Function(1, _ricker, "(1-x**2)*exp(-x**2/2)"),\n'
            '        "relu": Function(',
        ),
    ),
    check=r"""
import numpy as np
import symderiv as sd

C = [[1.0, 0.5], [0.5, 2.0]]
found = sd.mean("ricker(x)*ricker(y)", C)
assert found.closed_form is not None
nodes, weights = np.polynomial.hermite_e.hermegauss(80)
x = np.linalg.cholesky(np.array(C)) @ np.stack(np.meshgrid(nodes, nodes)).reshape(2, -1)
values = np.prod((1 - x**2) * np.exp(-(x**2) / 2), axis=0)
expected = values @ np.outer(weights, weights).ravel() / (2 * np.pi)
assert abs(float(found.value) - expected) < 1e-10
assert sd.i2("ricker(x)").closed_form is not None
""",
    asking=("tests/unit/test_expressions.py", "tests/unit/test_expressions_hostile.py"),
)
