"""Generated modules, evaluated without compiling all of them.

The texts are run as plain Python: the readable procedures, and the one that the fast module writes
out for given numbers of units, whose runtime is replaced by NumPy. Where
functions contain long loops (mixtures, quadrature, four signs) the scalar functions are compiled;
the procedures never are.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.plain_module import module_rates

from pairs.activations import Activation
from pairs.reference import StatedError
from pairs.states import Rates, State
from symderiv.lowering.solver_files import SolverText

Array = NDArray[np.float64]

_PROCEDURES = {
    *("generalization_error", "first_layer_gradients", "second_layer_gradient", "gradients"),
    *("noise", "order_parameters", "observables", "right_hand_side", "flat_right_hand_side"),
    *("flat_observables", "specialised"),
}
_shared: dict[Any, Any] = {}


def derived_text(
    student: str, teacher: str, tolerance: float | None, folder: Path | None
) -> SolverText:
    """The modules of a pair, kept in ``folder`` by everything that they depend on."""
    from symderiv.checking.recipes import solver_text
    from symderiv.storage.kernels import _engine_digest

    if folder is None:
        return solver_text("pair", student, teacher, tolerance, lanes=False)
    key = "\0".join([student, teacher, str(tolerance), _engine_digest()])
    path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    if path.exists():
        return SolverText(**json.loads(path.read_text(encoding="utf-8")))
    text = solver_text("pair", student, teacher, tolerance, lanes=False)
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(asdict(text)), encoding="utf-8")
    part.replace(path)
    return text


def module(text: SolverText) -> SimpleNamespace:
    """The functions of both modules, callable with NumPy arrays."""
    # how means are taken is said in the readable one
    approximate = "\nACTIVATION_METHOD = " in text.readable
    heavy = approximate or "def sign_mean4(" in text.readable
    njit = _njit(heavy, shares=not approximate)
    return SimpleNamespace(**{**_names(text.fast, njit), **_names(text.readable, njit)})


def _names(text: str, njit: Callable[..., Any]) -> dict[str, Any]:
    lines = [line for line in text.splitlines() if not line.startswith(("from numba", "from ."))]
    names: dict[str, Any] = {"njit": njit}
    names.update(DIGEST=0, derivative_apart=lambda: None)
    names.update(view=_view, stack_array=_stack_array, to_inverse_roots=_to_inverse_roots)
    exec(compile("\n".join(lines), "pair", "exec"), names)
    return names


def _view(vector: Array, start: int, shape: tuple[int, ...]) -> Array:
    return vector[start : start + int(np.prod(shape))].reshape(shape)


def _stack_array(count: int, shape: tuple[int, ...]) -> Array:
    # what is read before it is written shows
    return np.full(shape, np.nan)


def _to_inverse_roots(values: Array, count: int) -> None:
    values[:count] = 1.0 / np.sqrt(values[:count])


def _njit(heavy: bool, shares: bool) -> Callable[..., Any]:
    def njit(*signature: Any, **options: Any) -> Any:
        def decorate(function: Any) -> Any:
            if not heavy or function.__name__ in _PROCEDURES:
                return function
            return _compiled(function, shares)

        return decorate

    return njit


def _compiled(function: Any, shares: bool) -> Any:
    """Compiled; helpers with the same code and no constants of the module are compiled once.

    Not those of quadrature: they call the activations of their own module.
    """
    from numba import njit

    code = function.__code__
    options = {"error_model": "numpy"}
    helper = function.__name__.startswith(("_", "sign_mean4"))
    if not (shares and helper) or _constants(function):
        return njit(**options)(function)
    key = (function.__name__, code.co_code, code.co_consts, code.co_names)
    if key not in _shared:
        _shared[key] = njit(**options)(function)
    return _shared[key]


def _constants(function: Any) -> bool:
    return any(
        re.match(r"_*[A-Z][A-Z0-9_]+$", name) and not name.startswith("_GAUSS")
        for name in function.__code__.co_names
    )


def stated_error(m: SimpleNamespace, student: Activation, teacher: Activation) -> StatedError:
    """What the module says of its accuracy."""
    method = getattr(m, "ACTIVATION_METHOD", None)
    if method == "mixture":
        error, slope = m.ACTIVATION_ERROR, m.ACTIVATION_DERIVATIVE_ERROR
        own, other = student.kind == "mixture", teacher.kind == "mixture"
        return StatedError(error * own, slope * own, error * other)
    if method is not None:
        return StatedError(mean=m.ACTIVATION_ERROR)
    return StatedError()


def readable_rates(m: SimpleNamespace, state: State, rates: Rates) -> Array:
    """The procedures ``right_hand_side`` and ``generalization_error``."""
    K, M = len(state.J), len(state.B)
    Qk, rk, tk = overlaps(state)
    T = state.T.copy()
    arrays = (Qk, rk, state.v, state.eigenvalue, state.weight, tk, T, state.v_teacher)
    dQ, dr, dv = module_rates(m, arrays, tuple(numbers(rates)))
    Q, R = np.full((K, K), np.nan), np.full((K, M), np.nan)
    m.order_parameters(Qk, rk, state.eigenvalue, state.weight, Q, R)
    error = m.generalization_error(Q, R, T, state.v, state.v_teacher)
    return np.concatenate([dQ.ravel(), dr.ravel(), dv, [error]])


def written_out_rates(m: SimpleNamespace, state: State, rates: Rates) -> Array:
    """The procedure written out for these numbers of units, which solvers use; without ε_g."""
    vector, sizes, parameters = packed(state, rates)
    derivative = np.full_like(vector, np.nan)
    m.specialised(int(sizes[0]), int(sizes[1]))(0.0, vector, sizes, parameters, derivative)
    return derivative


def packed(state: State, rates: Rates) -> tuple[Array, NDArray[np.int64], Array]:
    """State, sizes and parameters in the layout of the flat functions."""
    Qk, rk, tk = overlaps(state)
    vector = np.concatenate([Qk.ravel(), rk.ravel(), state.v])
    parameters = np.concatenate(
        [
            *(state.eigenvalue, state.weight, tk.ravel(), state.T.ravel(), state.v_teacher),
            numbers(rates),
        ]
    )
    return vector, np.array([len(state.J), len(state.B), len(state.eigenvalue)]), parameters


def overlaps(state: State) -> tuple[Array, Array, Array]:
    """Those of students, of students with teachers and of teachers, the eigenvalue last."""
    phi = state.phi
    return (
        np.ascontiguousarray(state.overlap(state.J, state.J)),
        np.ascontiguousarray(state.overlap(state.J, phi)),
        np.ascontiguousarray(state.overlap(phi, phi)),
    )


def numbers(rates: Rates) -> list[float]:
    """In the order of the modules."""
    return [
        *(rates.learning_rate, rates.second_layer_learning_rate, rates.weight_decay),
        *(rates.second_layer_weight_decay, rates.label_noise, rates.full_order),
    ]
