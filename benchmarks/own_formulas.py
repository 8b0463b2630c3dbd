"""First curves of formulas and statements of one's own: CPU seconds of whole processes with cold
caches.

python -m benchmarks own_formulas

Formulas that quadrature cannot treat are refused, which counts as well. Statements are a network of
two ReLU units with biases and output weights, all trained, that tells two clusters apart by the
logistic loss; a tanh committee of two units that learns from two; a Swish and a logistic unit with
a trained bias that learn from softplus; two tanh units with output weights that learn from a ReLU
and an erf unit; and two linear experts with a smooth gate that learn a ReLU unit.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.__main__ import STUDY, SYMDERIV

SMOOTH = (
    *("tanh(x)+0.5*sin(3*x)", "x/(1+x**2)", "exp(-x**2)*x+0.1*x", "log(1+exp(2*x))"),
    *("atan(x)**3", "tanh(x)/(1+x**2)", "sqrt(1+x**2)", "x*exp(-x**2/2)+tanh(x)"),
)
KINKED = (
    *("Max(-1,Min(1,x))", "Max(0,Min(6,x))", "Max(x,x/10)", "Abs(x)"),
    *("sign(x)*log(1+Abs(x))", "Abs(x+1/2)-Abs(x-1)/2"),
)
REFUSED = ("cos(exp(x))", "sin(exp(x))", "Abs(x)**1.5", "x*log(Abs(x))")
MOST = {"smooth": 5.0, "kinked": 15.0, "refused": 4.0}
"""CPU seconds: of smooth formulas the median, of the others each."""

_BEGIN = "import sympy as sp, symderiv as sd\nP = sd.System()\n"
STATED = {
    "two ReLU units with a logistic loss": """
label, U = P.latents("label", "rademacher"), P.vectors("U", fixed=True)
x, w = P.inputs("x") + label * U, P.vectors("w", 2)
a, b = P.scalars("a", 2), P.scalars("b", 2)
out = sum(a[n] * sp.Max(w[n] @ x + b[n], 0) for n in range(2))
P.descend(sp.log(1 + sp.exp(-label * out)), {w: 0.5, a: 0.5, b: 0.5})
start = {"U.U": 1, "U.w": [0.3, -0.2], "w.w": [[0.5, 0.1], [0.1, 0.4]]}
P.solve(end=5, points=5, initial={**start, "a": [0.4, -0.3], "b": [0.1, -0.2]})
""",
    "a stated tanh committee": """
x, w, B = P.inputs("x"), P.vectors("w", 2), P.vectors("B", 2, fixed=True)
P.descend((sp.tanh(w[0] @ x) + sp.tanh(w[1] @ x) - sp.tanh(B[0] @ x) - sp.tanh(B[1] @ x)) ** 2 / 2,
          {w: 0.5})
start = {"w.w": [[1.3, 0.1], [0.1, 0.8]], "w.B": [[0.3, 0], [-0.1, 0.2]]}
P.solve(end=20, points=5, initial={**start, "B.B": [[1.1, 0.2], [0.2, 0.9]]})
""",
    "Swish and logistic units with a bias": """
x, w, B = P.inputs("x"), P.vectors("w", 2), P.vectors("B", fixed=True)
u, b = P.scalars("u", 2), P.scalars("b")
swish, logistic = (w[0] @ x + b) / (1 + sp.exp(-(w[0] @ x) - b)), 1 / (1 + sp.exp(-(w[1] @ x)))
out = u[0] * swish + u[1] * logistic
P.descend((out - sp.log(1 + sp.exp(B @ x))) ** 2 / 2, {w: 0.5, u: 0.5, b: 0.5})
start = {"w.w": [[0.9, 0.1], [0.1, 1]], "w.B": [0.1, 0.2], "B.B": 1, "u": [1, 0.5], "b": 0.3}
P.solve(end=5, points=5, initial=start)
""",
    "tanh units that learn from ReLU and erf": """
x, w, B, u = P.inputs("x"), P.vectors("w", 2), P.vectors("B", 2, fixed=True), P.scalars("u", 2)
out = u[0] * sp.tanh(w[0] @ x) + u[1] * sp.tanh(w[1] @ x)
P.descend((out - sp.Max(B[0] @ x, 0) - sp.erf(B[1] @ x)) ** 2 / 2, {w: 0.5, u: 0.5})
start = {"w.w": [[1.3, 0.1], [0.1, 0.8]], "w.B": [[0.3, 0], [-0.1, 0.2]], "u": [1, 0.8]}
P.solve(end=5, points=5, initial={**start, "B.B": [[1.1, 0.2], [0.2, 0.9]]})
""",
    "gated linear experts that learn ReLU": """
x, w, g, G = P.inputs("x"), P.vectors("w", 2), P.vectors("g"), P.vectors("G", fixed=True)
gate = (1 + sp.tanh(g @ x)) / 2
out = gate * (w[0] @ x) + (1 - gate) * (w[1] @ x)
P.descend((out - sp.Max(G @ x, 0)) ** 2 / 2, {w: 0.5, g: 0.5})
start = {"w.w": [[1, 0.1], [0.1, 0.8]], "w.g": [0.1, 0.2], "w.G": [0.1, 0], "g.g": 1}
P.solve(end=5, points=5, initial={**start, "g.G": 0.2, "G.G": 1})
""",
}

_Row = tuple[str, str, str, bool]


def rows() -> Iterator[_Row]:
    """For ``python -m benchmarks``."""
    seconds = []
    for formula in SMOOTH:
        took, code = _solved(formula)
        seconds.append(took)
        yield f"first curve of {formula}", f"{took:.1f} CPU s", "solved", code == 0
    middle, most = statistics.median(seconds), MOST["smooth"]
    yield "the median of these", f"{middle:.1f} CPU s", f"<= {most:g} CPU s", middle <= most
    for formula in KINKED:
        took, code = _solved(formula)
        met = code == 0 and took <= MOST["kinked"]
        yield f"first curve of {formula}", f"{took:.1f} CPU s", f"<= {MOST['kinked']:g} CPU s", met
    for formula in REFUSED:
        took, code = _solved(formula)
        met = code == 2 and took <= MOST["refused"]
        must_be = f"refused, <= {MOST['refused']:g} CPU s"
        yield f"{formula}, exit code {code}", f"{took:.1f} CPU s", must_be, met
    for statement, lines in STATED.items():
        with tempfile.TemporaryDirectory() as folder:
            for what in ("first", "second"):
                took, code = _took([sys.executable, "-c", _BEGIN + lines], folder)
                yield f"{what} curve of {statement}", f"{took:.1f} CPU s", "solved", code == 0


def _solved(formula: str) -> tuple[float, int]:
    """Return the CPU seconds of a first ``symderiv solve``, and its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.toml"
        text = STUDY.read_text(encoding="utf-8").replace('"erf"', f'"{formula}"')
        study.write_text(text, encoding="utf-8")
        command = [SYMDERIV, "solve", str(study), "--output", str(study.with_suffix(".nc"))]
        return _took(command, folder)


def _took(command: list[str], folder: str) -> tuple[float, int]:
    """Return the CPU seconds of a command with its caches in a folder, and its exit code."""
    cold = {"NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder, "PYTHONDONTWRITEBYTECODE": ""}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, env={**os.environ, **cold}, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode
