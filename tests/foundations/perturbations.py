"""The engine, slightly wrong: one of its lowest public results changed by parts in a million.

A perturbation replaces a function wherever the loaded modules of the project refer to it and
forgets every value that was kept, so that everything that rests on the function is computed anew
from the changed one. Afterwards all is as before.
"""

import dataclasses
import functools
import gc
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import sympy as sp

__all__ = ["PERTURBATIONS", "perturbed"]

#: All relative changes are of this size; those of different quantities differ by small factors.
SIZE = sp.Rational(1, 10**6)
#: The checked-in module that claims use.
_RATES = "symderiv_kernels.erf"
_ROOMS = ("symderiv", "symderiv_codegen", "symderiv_kernels", "symderiv_ledger", "symderiv_papers")


def _times(factor: int) -> sp.Rational:
    return 1 + factor * SIZE


def _scaled(value: Any, factor: int = 1) -> Any:
    """A number of any kind, an array, an expression, or a container of them, times 1 + small."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, sp.MatrixBase | sp.Basic):
        return value * _times(factor)
    if isinstance(value, float | np.ndarray):
        return value * float(_times(factor))
    if isinstance(value, list | tuple):
        return type(value)(_scaled(entry, factor) for entry in value)
    if isinstance(value, Mapping):
        return {key: _scaled(entry, factor) for key, entry in value.items()}
    return value * int(_times(factor).p) / int(_times(factor).q)


def _fields(function: Callable[..., Any], **factors: int) -> Callable[..., Any]:
    """The function with some fields of its result scaled."""

    @functools.wraps(function)
    def changed(*arguments: Any, **more: Any) -> Any:
        found = function(*arguments, **more)
        values = {name: _scaled(getattr(found, name), k) for name, k in factors.items()}
        return dataclasses.replace(found, **values)

    return changed


def _value(function: Callable[..., Any], factor: int = 1) -> Callable[..., Any]:
    """The function with its result scaled."""

    @functools.wraps(function)
    def changed(*arguments: Any, **more: Any) -> Any:
        return _scaled(function(*arguments, **more), factor)

    return changed


def _in_place(function: Callable[..., Any], *outputs: tuple[int, int]) -> Callable[..., Any]:
    """A compiled procedure with arrays it writes scaled: (position from the end, factor)."""

    def changed(*arguments: Any) -> None:
        function(*arguments)
        for position, factor in outputs:
            arguments[position][...] *= float(_times(factor))

    return changed


Replacement = tuple[str, str, Callable[[Any], Any]]


def _means() -> Iterator[Replacement]:
    """All Gaussian means, in closed form and in the checked-in module of the papers' activation."""
    yield "symderiv.gaussian.engine", "expectation", lambda f: _fields(f, value=1)
    yield _RATES, "i2", _value
    yield _RATES, "generalization_error", _value
    yield (
        _RATES,
        "right_hand_side",
        lambda f: _in_place(f, (-3, 1), (-2, 1), (-1, 1)),
    )


def _flow() -> Iterator[Replacement]:
    """The force, the noise and the motion of output weights, as derived from the SGD update."""
    yield (
        "symderiv.learning.derivation.learning_equations",
        "derive_equations",
        lambda f: _fields(
            f, student_gradient=1, teacher_gradient=-1, noise=2, second_layer_gradient=1
        ),
    )
    yield (
        _RATES,
        "right_hand_side",
        lambda f: _in_place(f, (-3, 1), (-2, 2), (-1, 1)),
    )


def _plateau() -> Iterator[Replacement]:
    """Closed forms of the symmetric plateau, its linearisation, equations of symmetric states."""
    yield (
        "symderiv.analysis.plateau.plateau_forms",
        "plateau_forms",
        lambda f: _fields(
            f,
            symmetric_stiffness=1,
            difference_stiffness=2,
            teacher_response=3,
            length_response=4,
            one_length_response=5,
            generalization_error=6,
            length=7,
        ),
    )
    yield (
        "symderiv.analysis.symmetric",
        "reduced_equations",
        lambda f: _fields(f, generalization_error=1, gradients=2, noise=3, spectral=4),
    )


def _linear() -> Iterator[Replacement]:
    """The linear network as a linear system, in eigenspaces and in moments."""
    yield (
        "symderiv.analysis.linear.system",
        "linear_system",
        lambda f: _fields(f, decay=1, source=2, readout=3, error_factor=4),
    )


def _error() -> Iterator[Replacement]:
    """The generalisation error, as derived."""
    yield (
        "symderiv.learning.derivation.learning_equations",
        "derive_equations",
        lambda f: _fields(f, generalization_error=1),
    )
    yield _RATES, "generalization_error", _value


def _data() -> Iterator[Replacement]:
    """Data models and what follows from them: spectra, mixtures, manifolds, closure, simulation."""
    yield "symderiv.inputs.spectra", "power_law", _model
    yield "symderiv.inputs.latent", "hidden_manifold", _model
    yield "symderiv.inputs.latent", "mixture_manifold", _model
    yield "symderiv.inputs.latent", "generator", _model
    yield "symderiv.inputs.latent", "marchenko_pastur", lambda f: _value(f, 1)
    yield "symderiv.inputs.mixture", "uniform_means", _value
    yield "symderiv.inputs.nonlinearity", "nonlinearity", lambda f: _fields(f, a=1, b=2, c=3)
    yield "symderiv.learning.derivation.moment_hierarchy", "closure_coefficients", _value
    yield "symderiv.experiment.steps.step_chain:MarkovChain", "learn", _step
    yield "symderiv.problem.initial", "initial", _start
    yield (
        "symderiv.problem.initial",
        "state_of_vectors",
        lambda f: _fields(
            f, student_overlap=1, cross_overlap=2, teacher_overlap=3, teacher_covariance=4
        ),
    )
    mixture = "symderiv.inputs.mixture:Mixture"
    yield mixture, "sample", _value
    yield mixture, "covariance", _value
    yield mixture, "divergence_per_coordinate", _value


def _model(function: Callable[..., Any]) -> Callable[..., Any]:
    """Eigenvalues of the first component, and latent samples."""

    @functools.wraps(function)
    def changed(*arguments: Any, **more: Any) -> Any:
        found = function(*arguments, **more)
        first, *others = found.components
        values = first.eigenvalue * (1 + float(SIZE) * np.arange(1, first.eigenvalue.size + 1))
        changes: dict[str, Any] = {
            "components": (dataclasses.replace(first, eigenvalue=values), *others)
        }
        latent = found.latent
        if latent is not None and latent.sampler is not None:
            sampler = latent.sampler

            def draws(*given: Any) -> Any:
                x, c = sampler(*given)
                return x * (1 + float(SIZE)), c

            changes["latent"] = dataclasses.replace(latent, sampler=draws)
        return dataclasses.replace(found, **changes)

    return changed


def _start(function: Callable[..., Any]) -> Callable[..., Any]:
    """The teachers' overlaps of an initial state."""

    @functools.wraps(function)
    def changed(*arguments: Any, **more: Any) -> Any:
        found = function(*arguments, **more)
        state = found.state
        teachers = state.teacher_overlap * (1 + float(SIZE))
        return dataclasses.replace(
            found, state=dataclasses.replace(state, teacher_overlap=teachers)
        )

    return changed


def _step(function: Any) -> Any:
    """One step of the simulation: the weights it leaves."""

    def changed(chain: Any, *arguments: Any) -> Any:
        found = function(chain, *arguments)
        chain.vectors *= 1 + float(SIZE)
        return found

    return changed


PERTURBATIONS: Mapping[str, Callable[[], Iterator[Replacement]]] = {
    "means": _means,
    "flow": _flow,
    "error": _error,
    "plateau": _plateau,
    "linear": _linear,
    "data": _data,
}


@contextmanager
def perturbed(name: str) -> Iterator[None]:
    """One of :data:`PERTURBATIONS` inside the block."""
    with ExitStack() as stack:
        loaded = _loaded()
        for module, attribute, change in PERTURBATIONS[name]():
            module, _, owner = module.partition(":")
            place = importlib.import_module(module)
            if owner:
                place = getattr(place, owner)
                original = getattr(place, attribute)
                stack.enter_context(mock.patch.object(place, attribute, change(original)))
                continue
            original = getattr(place, attribute)
            replacement = change(original)
            for other in loaded:
                for key, value in list(vars(other).items()):
                    if value is original:
                        stack.enter_context(mock.patch.object(other, key, replacement))
        forget()
        try:
            yield
        finally:
            stack.close()
            forget()


@functools.cache
def _loaded() -> tuple[ModuleType, ...]:
    """All modules of the project, loaded; but not those of loops that compile as they are loaded:
    they take nothing from other modules.
    """
    for room in _ROOMS:
        package = importlib.import_module(room)
        for found in pkgutil.walk_packages(package.__path__, f"{room}."):
            source = importlib.util.find_spec(found.name)
            assert source is not None
            assert source.origin is not None
            loops = "\n@compiled(" in Path(source.origin).read_text("utf-8")
            if not (found.name.endswith("__main__") or loops):
                importlib.import_module(found.name)
    return tuple(
        module for name, module in sorted(sys.modules.items()) if name.split(".")[0] in _ROOMS
    )


def forget() -> None:
    """Empty what functions of the project have kept."""
    gc.unfreeze()  # tests hide from the collector what was there when they began
    for found in gc.get_objects():
        # by its type: isinstance asks a proxy for what it stands for, which may be gone
        if type(found) is functools._lru_cache_wrapper:
            name = str(getattr(found, "__module__", ""))
            if name.split(".")[0] in _ROOMS:
                found.cache_clear()
