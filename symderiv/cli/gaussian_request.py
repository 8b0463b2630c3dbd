"""Requests for Gaussian expectations and their answers, whatever way they were typed.

Options of the command line and lines of a batch file become the same :class:`Request`; one function
answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from symderiv.cli.gaussian_input import read_covariance, read_integrand, read_mean
from symderiv.errors import DivergentError, InputError, NotYetError, SymderivError
from symderiv.expressions import Activation, activation
from symderiv.expressions.reader import quoted

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.gaussian import Expectation
    from symderiv.precision.quadrature import NumericMean

__all__ = ["KEYS", "MAX_DIGITS", "Answer", "NumericAnswer", "Request", "answer", "any_answer"]

_T = TypeVar("_T")

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
class NumericAnswer:
    """An expectation without a closed form, and how its request was understood."""

    mean: NumericMean
    echo: Mapping[str, Any]
    digits: int

    def to_json(self) -> dict[str, Any]:
        """The JSON object that the interface promises, preceded by the echo."""
        asked = self.mean
        done = None if asked.symbols else asked.evaluate(self.digits)
        names = ", ".join(asked.symbols)
        return {
            **self.echo,
            "statement": asked.statement,
            "closed_form": None,
            "expression": None,
            "latex": asked.statement + (rf" \approx {done.value.value}" if done else ""),
            "value": done.value.value if done else None,
            "error_bound": done.value.error_bound if done else None,
            "certified": done.value.certified if done else False,
            "method": done.value.method
            if done
            else f"no closed form; with numbers for {names} it is computed by quadrature",
            "sign_factors": None,
            "steps": [step.to_json() for step in (done.steps if done else asked.steps)],
        }


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
    """The answer to a request, in closed form.

    Raises:
        InputError: The request cannot be understood or the expectation does not exist.
        NotYetError: It has no closed form in this version.
    """
    task = _understood(request)
    return Answer(_named(request, task.derived), task.echo, task.digits)


def any_answer(request: Request) -> Answer | NumericAnswer:
    """The answer to a request, in closed form or else as a number.

    Raises:
        InputError: The request cannot be understood or the expectation does not exist.
        NotYetError: It has no answer in this version.
    """
    task = _understood(request)
    try:
        return Answer(_named(request, task.derived), task.echo, task.digits)
    except (NotYetError, DivergentError) as error:
        return _numeric_answer(request, task, error)


def _numeric_answer(
    request: Request, task: _Task, error: NotYetError | DivergentError
) -> NumericAnswer:
    from symderiv.precision.quadrature import numeric_mean

    integrand, fields = task.integrand()
    mean = _named(
        request, lambda: numeric_mean(integrand, fields, task.covariance, task.mean, str(error))
    )
    if isinstance(error, DivergentError):
        # The rules look at factors one by one: sin(x)/x is 1/x to them. A bound of the whole
        # function decides.
        if mean.symbols:
            raise error
        try:
            mean.evaluate(1)
        except SymderivError:
            raise error from None
    return NumericAnswer(mean, task.echo, task.digits)


@dataclass(frozen=True)
class _Task:
    """A request as it was understood: what is averaged over which law."""

    derived: Callable[[], Expectation]
    integrand: Callable[[], tuple[sp.Expr, Sequence[sp.Symbol]]]
    covariance: sp.Matrix
    mean: sp.Matrix | None
    echo: dict[str, Any]
    digits: int


def _understood(request: Request) -> _Task:
    kinds = [kind for kind in KEYS if kind in request.values]
    if len(kinds) != 1:
        raise InputError("give one of the keys expr and integral")
    (kind,) = kinds
    for key in request.values:
        if key not in KEYS[kind]:
            allowed = ", ".join(sorted(KEYS[kind]))
            raise InputError(f"unknown key {quoted(str(key))} beside {kind}; allowed: {allowed}")
    digits = request.digits  # refused before anything is computed
    return _expect(request, digits) if kind == "expr" else _integral(request, digits)


def _expect(request: Request, digits: int) -> _Task:
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

    echo = {
        "formula": str(integrand),
        "covariance": _texts(covariance),
        "mean": ["0"] * covariance.rows if mean is None else [str(entry) for entry in mean],
    }
    return _Task(
        lambda: expectation(integrand, fields, covariance, mean),
        lambda: (integrand, fields),
        covariance,
        mean,
        echo,
        digits,
    )


def _integral(request: Request, digits: int) -> _Task:
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
    letters = ["g"] if same else [f"g{i + 1}" for i in range(slots)]
    definitions = [f"{letter}(x) = {g.text}" for letter, g in zip(letters, given, strict=False)]
    formula = pattern.format(*(letters * slots)[:slots])
    echo = {
        "formula": f"E[{formula}], {', '.join(definitions)}",
        "integral": which,
        "activations": [g.text for g in given],
        "covariance": _texts(covariance),
    }
    return _Task(
        lambda: integrals[which](*functions, covariance),
        lambda: gaussian.integrand(which, functions),
        covariance,
        None,
        echo,
        digits,
    )


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


def _named(request: Request, compute: Callable[[], _T]) -> _T:
    """The result of ``compute``; its complaints about the covariance name what the user typed."""
    try:
        return compute()
    except InputError as error:
        if error.argument in ("covariance", "mean"):
            raise error.renamed(request.name(error.argument)) from None
        raise


def _texts(matrix: Any) -> list[list[str]]:
    return [[str(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)]


def _brief(value: Any) -> str:
    return quoted(str(value))
