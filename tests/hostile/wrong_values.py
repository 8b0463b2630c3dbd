"""Calls of Python with one value wrong: each must be refused in one line that names the argument.

A call of the table has arguments of a kind each; a kind is a list of values that no argument of
that kind takes. All other arguments of the call are right, so that the argument which is refused
is the wrong one, and a call whose check is gone computes something, which the test notices.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import symderiv as sd

NAN, INF = math.nan, math.inf
#: What nothing is made from.
_ODD: tuple[Any, ...] = ({"a": 1}, b"x", 1j, object())

#: Values that no argument of a kind takes.
WRONG: dict[str, tuple[Any, ...]] = {
    "whole": (*_ODD, -1, 2.5, NAN, INF, "abc", True, [1, 2, 3]),
    "number": (*_ODD, NAN, "abc", "", True, [1, 2, 3]),
    "positive": (*_ODD, -1, NAN, "abc", "", True, [1, 2, 3]),
    "exact": (*_ODD, NAN, INF, "abc", "", [1, 2, 3]),
    "flag": (*_ODD, -1, 2.5, NAN, "abc", "", [], np.zeros(2)),
    "choice": (*_ODD, 0, 2.5, NAN, "abc", "", True, [], np.zeros(2)),
    "name": (*_ODD, 0, 2.5, "abc", "", True, [1, 2]),
    "names": (*_ODD, 0, 2.5, "abc", ["abc"], [1, 2], np.zeros(2)),
    "definitions": (*_ODD, 0, 2.5, "abc", [1, 2], np.zeros(2)),
    "label": (*_ODD, 0, 2.5, [1, 2], np.zeros(2)),
    "text": (*_ODD, 0, 2.5, NAN, True, [1, 2], np.zeros(2)),
    "formula": (*_ODD, NAN, "abc(", "", True, [1, 2, 3], np.zeros(2)),
    "path": (*_ODD, 0, 2.5, True, [1, 2], np.zeros(2)),
    "progress": (*_ODD, -1, 2.5, "abc", [1, 2], np.zeros(2)),
    "function": (*_ODD, 0, 2.5, "abc", True, [1, 2], np.zeros(2)),
    "times": (*_ODD, NAN, "abc", True, [], [NAN], [-1.0], np.zeros((2, 2))),
    "range": (*_ODD, -1, 2.5, "abc", [1, 2, 3], (2, 1), (NAN, 1), (0, INF)),
    "ranges": (*_ODD, -1, 2.5, "abc", [1, 2], {"abc": (0, 1)}, {1: (0, 1)}),
    "state": (*_ODD, -1, 2.5, [], [1, 2], {"abc": 1.0}, {"Q": "abc", "R": [[1]]}),
    "matrix": (*_ODD, "abc", [1, 2, 3], [[1, 2], [3]], [["a"]], [[NAN]]),
    "dictionary": (b"x", 1j, object(), -1, 2.5, "abc", "", 0, [1, 2], []),
    "member": (*_ODD, -1, 2.5, NAN, "abc", True, [1, 2]),
    "list": (*_ODD, -1, 2.5, NAN, "abc", True),
    "axes": (*_ODD, 0, 2.5, "abc", [1, 2], np.zeros(2)),
    "checkpoint": (*_ODD, 0, 2.5, "abc", [1, 2], np.zeros(2)),
    "operand": (*_ODD, 1, 2.5, "abc", None, True, [1, 2], np.ones(2)),
    "word": (*_ODD, 0, 2.5, "", "1a", "a b", True, [1, 2]),
    "expression": (*_ODD, NAN, INF, "abc", True),
    "coordinate": ({"a": 1}, b"x", object(), "abc", None, True),
}


@dataclass(frozen=True)
class WrongCall:
    """A public call, right arguments, and the kinds of those that are made wrong.

    Args:
        call: Makes the call; with the right arguments alone it would compute.
        right: Arguments that are right.
        kinds: The kinds of arguments by name, those of ``right`` or others.
        accepted: Values that an argument takes although others of its kind do not.
        called: The name that messages have for an argument, where it is another one.
    """

    call: Callable[..., Any]
    right: Mapping[str, Any]
    kinds: Mapping[str, str]
    accepted: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)

    def wrong(self) -> Iterator[tuple[str, Any]]:
        """Yield an argument and a value that must be refused."""
        for name, kind in self.kinds.items():
            taken = [repr(each) for each in self.accepted.get(name, ())]
            for value in WRONG[kind]:
                if repr(value) not in taken:
                    yield name, value


#: Seconds of the processor after which a call that was not refused is ended.
_AT_WORK = 5.0


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError in what takes longer."""

    def end(number: int, frame: Any) -> None:
        raise TimeoutError("is at work")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def faults(call: WrongCall, soon: float = 0.5, wrong: Sequence[tuple[str, Any]] = ()) -> list[str]:
    """Return how the wrong values of a call are answered that are not refused as they should be.

    Args:
        call: The call.
        soon: Seconds of the processor after which a refusal comes too late: something was
            evaluated.
        wrong: Arguments and values; all of the call when left out.
    """
    found, late = [], []
    for name, value in wrong or call.wrong():
        told = f"{name}={' '.join(repr(value).split())[:40]}"
        started = time.process_time()
        try:
            with _ended_after(_AT_WORK):
                call.call(**{**call.right, name: value})
        except sd.SymderivError as error:
            said = str(error)
            if "\n" in said or len(said) > 500:
                found.append(f"{told}: not one line: {said}")
            elif not _says_where(said, call.called.get(name, name), value):
                found.append(f"{told}: does not say where: {said}")
            elif time.process_time() - started > soon:
                late.append((name, value))
        except Exception as error:
            found.append(f"{told}: {type(error).__name__}: {error}")
        else:
            found.append(f"{told}: accepted")
    # what is imported or read first takes its time once
    if late:
        found += [f"{late} refused late"] if wrong else faults(call, soon, late)
    return found


def _says_where(said: str, name: str, value: Any) -> bool:
    """Return whether a message has the name of an argument, or of a key of a dictionary."""
    return name in said or (isinstance(value, dict) and any(f"{key}:" in said for key in value))


@cache
def problem() -> sd.Problem:
    """Two units that learn from two, in 100 dimensions."""
    inputs = sd.Isotropic(100)
    return sd.Problem("linear", students=2, teachers=2, learning_rate=0.5, inputs=inputs)


@cache
def system() -> sd.System:
    """The same, stated."""
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w", 2), P.vectors("B", 2, fixed=True)
    eta = P.parameter("eta", 0.5)
    error = ((w @ x).sum() - (B @ x).sum()) ** 2 / 2
    kappa = P.parameter("kappa", 0.1)
    P.descend(error + kappa * w.dot(w).trace() / 2, {w: eta})
    P.observe(error=error)
    return P


@cache
def trajectory() -> Any:
    """Return a run of the problem."""
    return problem().solve(end=2, points=3)


@cache
def simulation() -> Any:
    """Return two simulations of the problem."""
    return problem().simulate(runs=2, end=1, points=2)


START = {"w.w": np.eye(2), "w.B": np.eye(2) / 2, "B.B": np.eye(2)}
STATE = {"Q": np.eye(2), "R": np.eye(2) / 2, "T": np.eye(2)}
COVARIANCE = [[1, 0.5], [0.5, 1]]


def stated(name: str) -> Callable[..., Any]:
    """Return a line of a new system that has vectors w, which it constrains."""

    def call(**arguments: Any) -> Any:
        P = sd.System()
        w = P.vectors("w", 2)
        if name == "constrain" and "vectors" not in arguments:
            arguments["vectors"] = w
        return getattr(P, name)(**arguments)

    return call


def moved(**arguments: Any) -> Any:
    """State a descent with a loss, a learning rate or velocities."""
    P = sd.System()
    x, w = P.inputs("x"), P.vectors("w", 2)
    given = {"loss": (w @ x).sum() ** 2, "rate": 0.5, "velocity": None, **arguments}
    P.descend(given["loss"], {w: given["rate"]}, given["velocity"])


def updated(change: Any) -> None:
    """State an update of a scalar."""
    P = sd.System()
    P.update({P.scalars("u"): change})


def of_vector(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return an operation of one vector and of several with another operand."""

    def call(number: int, operand: Any) -> Any:
        return operation(sd.System().vectors("w", number), operand)

    return call
