"""The text of a generated module as plain Python: the same statements, nothing compiled.

For a few calls compilation would take a hundred times longer than the calls. Numba is replaced by
decorators that do nothing, and the runtime of fast modules (views, arrays on the stack, vector
instructions) by plain Python with the same effect.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def uncompiled(
    text: str, compiled: Mapping[str, Callable[..., Any]] = MappingProxyType({})
) -> SimpleNamespace:
    """Return the namespace of a generated module.

    Args:
        text: The text of the module.
        compiled: Functions to take in place of its own, by name.

    Its functions agree with the compiled ones up to rounding, except where those divide by zero or
    take roots of negative numbers: Python raises there.
    """
    scope: dict[str, Any] = {
        "__name__": "uncompiled",
        "__builtins__": {**vars(builtins), "__import__": _imported},
    }
    exec(compile(text, "<generated module>", "exec"), scope)
    for name, function in compiled.items():
        if name in scope:
            scope[name] = function
    return SimpleNamespace(**scope)


def _imported(
    name: str, names: object = None, own: object = None, wanted: object = (), level: int = 0
) -> Any:
    """Return the module that an ``import`` in the text yields."""
    modules = {
        "math": math,
        "numpy": _Numpy("numpy"),
        "numba": SimpleNamespace(njit=_as_it_is),
        "runtime": SimpleNamespace(**RUNTIME),
    }
    module = modules.get(name) if level == (name == "runtime") else None
    if module is None:
        raise ImportError(f"a generated module imports {name!r}")
    return module


def _as_it_is(*_: Any, **options: Any) -> Any:
    """Return a function unchanged, in place of numba's decorator."""
    return lambda function: function


class _Numpy(ModuleType):
    """A stand-in for NumPy whose new arrays hold zeros: unused entries are read, too."""

    def __getattr__(self, name: str) -> Any:
        return np.zeros if name == "empty" else getattr(np, name)


def _exp(x: float) -> float:
    """Return exp(x), infinite where Python raises, as compiled functions do."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


NO_OVERFLOW: Mapping[str, Any] = MappingProxyType(
    {"math": SimpleNamespace(**{**vars(math), "exp": _exp})}
)
"""Names for :func:`uncompiled`, in which exponentials of large numbers are infinite."""


def view(vector: Floats, start: int, shape: Sequence[int]) -> Floats:
    """Return a view of a part of a vector."""
    return vector[start : start + math.prod(shape)].reshape(shape)


def stack_array(count: int, shape: Sequence[int]) -> Floats:
    """Return a new array in place of one on the stack."""
    return np.zeros(count).reshape(shape)


def to_inverse_roots(values: Floats, count: int) -> None:
    """Replace an array's first entries, in groups of eight, by their inverse square roots."""
    eights = slice(-(-count // 8) * 8)
    with np.errstate(divide="ignore", invalid="ignore"):
        values[eights] = 1 / np.sqrt(values[eights])


RUNTIME: dict[str, Any] = {
    "DIGEST": 0,
    "derivative_apart": lambda: None,
    "stack_array": stack_array,
    "to_inverse_roots": to_inverse_roots,
    "view": view,
}
"""The names of ``symderiv_kernels/fast/runtime.py`` in plain Python."""
