"""Requests for Gaussian expectations and their answers, whatever way they were typed.

Options of the command line and lines of a batch file become the same :class:`Request`; one function
answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from symderiv.cli.gaussian_input import read_covariance, read_integrand, read_mean
from symderiv.errors import InputError
from symderiv.expressions import Activation, activation
from symderiv.expressions.reader import quoted

if TYPE_CHECKING:
    from symderiv.gaussian import Expectation

__all__ = ["KEYS", "MAX_DIGITS", "Answer", "Request", "answer"]

DEFAULT_DIGITS: Final = 15
MAX_DIGITS: Final = 1000

#: Per integral: what it averages, one activation per slot, and the number of fields.
_INTEGRALS: Final = {
    "i2": ("{}(u)*{}(v)", 2, 2),
    "i3": ("{}'(u)*v*{}(w)", 2, 3),
    "i4": ("{}'(u)*{}'(v)*{}(w)*{}(z)", 4, 4),
}

#: The keys that go with each kind of request.
KEYS: Final = {
    "expr": frozenset({"expr", "covariance", "mean", "digits"}),
    "integral": frozenset({"integral", "activation", "activations", "covariance", "digits"}),
}


@dataclass(frozen=True)
class Request:
    """What is asked for, as read from options or from a JSON line.

    ``prefix`` turns a key into what the user typed: ``"--"`` on the command line, ``""`` in a file.
    """

    values: Mapping[str, Any]
    prefix: str

    def name(self, key: str) -> str:
        """The key as the user knows it; arguments are not options."""
        if self.prefix:
            return {"expr": "EXPR", "integral": "WHICH"}.get(key, self.prefix + key)
        return key

    def text(self, key: str) -> str:
        """A value that must be text."""
        value = self.values[key]
        if not isinstance(value, str):
            raise InputError(f"{self.name(key)} must be text")
        return value

    @property
    def digits(self) -> int:
        """The number of significant digits wanted."""
        value = self.values.get("digits", DEFAULT_DIGITS)
        text = str(value) if isinstance(value, int | str) else ""
        if not (text.isascii() and text.isdigit() and len(text) < 9):
            raise InputError(f"{self.name('digits')} must be a whole number, not {_brief(value)}")
        if not 1 <= int(text) <= MAX_DIGITS:
            raise InputError(f"{self.name('digits')} must be from 1 to {MAX_DIGITS}, not {text}")
        return int(text)


@dataclass(frozen=True)
class Answer:
    """An expectation, how its request was understood, and how many digits are wanted."""

    expectation: Expectation
    echo: Mapping[str, Any]
    digits: int

    def to_json(self) -> dict[str, Any]:
        """The JSON object that the interface promises, preceded by the echo."""
        import sympy as sp

        from symderiv.precision import certified

        found = self.expectation
        value = None if found.value.free_symbols else certified(found, self.digits)
        closed = found.method == "closed-form"
        return {
            **self.echo,
            "statement": found.statement,
            "closed_form": str(found.value) if closed else None,
            "expression": str(found.value),
            "latex": sp.latex(found.value),
            "value": value.value if value else None,
            "error_bound": value.error_bound if value else None,
            "certified": value.certified if value else False,
            "method": value.method if value else found.method,
            "sign_factors": found.sign_factors,
            "steps": [step.to_json() for step in found.steps],
        }


def answer(request: Request) -> Answer:
    """The answer to a request.

    Raises:
        InputError: The request cannot be understood or the expectation does not exist.
        NotYetError: It has no answer in this version.
    """
    kinds = [kind for kind in KEYS if kind in request.values]
    if len(kinds) != 1:
        raise InputError("give one of the keys expr and integral")
    (kind,) = kinds
    for key in request.values:
        if key not in KEYS[kind]:
            allowed = ", ".join(sorted(KEYS[kind]))
            raise InputError(f"unknown key {quoted(str(key))} beside {kind}; allowed: {allowed}")
    digits = request.digits  # refused before anything is computed
    found, echo = _expect(request) if kind == "expr" else _integral(request)
    return Answer(found, echo, digits)


def _expect(request: Request) -> tuple[Expectation, dict[str, Any]]:
    if "covariance" not in request.values:
        raise InputError(f"{request.name('covariance')} is missing")
    covariance = read_covariance(request.values["covariance"], request.name("covariance"))
    mean = None
    if request.values.get("mean") is not None:
        mean = read_mean(request.values["mean"], request.name("mean"), covariance)
    integrand, fields = read_integrand(
        request.values["expr"], request.name("expr"), covariance.rows
    )

    from symderiv.gaussian import expectation

    found = _named(request, lambda: expectation(integrand, fields, covariance, mean))
    echo = {
        "formula": str(integrand),
        "covariance": _texts(covariance),
        "mean": ["0"] * covariance.rows if mean is None else [str(entry) for entry in mean],
    }
    return found, echo


def _integral(request: Request) -> tuple[Expectation, dict[str, Any]]:
    which = request.text("integral").lower()
    if which not in _INTEGRALS:
        raise InputError(
            f"{request.name('integral')} must be one of {', '.join(_INTEGRALS)}, "
            f"not {quoted(which)}"
        )
    pattern, slots, size = _INTEGRALS[which]
    given, same = _activations(request, slots)

    from symderiv import gaussian

    if request.values.get("covariance") is None:
        covariance = gaussian.covariance_symbols(size)
    else:
        covariance = read_covariance(request.values["covariance"], request.name("covariance"), size)
    functions = [g.expression for g in given]
    integrals: dict[str, Callable[..., Expectation]]
    integrals = {"i2": gaussian.i2, "i3": gaussian.i3, "i4": gaussian.i4}
    found = _named(request, lambda: integrals[which](*functions, covariance))
    letters = ["g"] if same else [f"g{i + 1}" for i in range(slots)]
    definitions = [f"{letter}(x) = {g.text}" for letter, g in zip(letters, given, strict=False)]
    formula = pattern.format(*(letters * slots)[:slots])
    echo = {
        "formula": f"E[{formula}], {', '.join(definitions)}",
        "integral": which,
        "activations": [g.text for g in given],
        "covariance": _texts(covariance),
    }
    return found, echo


def _activations(request: Request, slots: int) -> tuple[list[Activation], bool]:
    """The activation of each slot, and whether one was given for all of them."""
    one = request.values.get("activation") is not None
    if one == (request.values.get("activations") is not None):
        raise InputError(
            f"give one of {request.name('activation')} and {request.name('activations')}"
        )
    if one:
        texts, name = [request.text("activation")] * slots, request.name("activation")
    else:
        name = request.name("activations")
        value = request.values["activations"]
        texts = _split(value) if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{name} must be a list of activations")
        if len(texts) != slots:
            raise InputError(f"{name} must have {slots} entries, one per slot, not {len(texts)}")
    try:
        return [activation(text) for text in texts], one
    except InputError as error:
        raise type(error)(f"{name}: {error}") from None


def _split(text: str) -> list[str]:
    """The parts between commas outside brackets: ``Max(x,0),x`` has two."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _named(request: Request, compute: Callable[[], Expectation]) -> Expectation:
    """The result of ``compute``; its complaints about the covariance name what the user typed."""
    try:
        return compute()
    except InputError as error:
        message = str(error)
        for key in ("covariance", "mean"):
            if message.startswith(f"the {key} "):
                message = request.name(key) + message.removeprefix(f"the {key}")
        raise type(error)(message) from None


def _texts(matrix: Any) -> list[list[str]]:
    return [[str(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)]


def _brief(value: Any) -> str:
    return quoted(str(value))
