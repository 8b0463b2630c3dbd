"""Exported Wolfram language without a kernel: read by SymPy's reader, then evaluated step by step.

The reader takes one statement on one line and numbers without ``*^``; texts are cut up for it.
Evaluation knows what exports use of the language and nothing more.
"""

import math
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from functools import reduce
from itertools import product
from operator import and_, or_
from types import MappingProxyType
from typing import Any

import numpy as np
from sympy.parsing.mathematica import MathematicaParser

#: A full form: a number or a symbol, or a head and its arguments.
Form = Any
Scope = MutableMapping[str, Any]


def statements(text: str) -> list[Form]:
    """Full forms of all statements of a file.

    Raises:
        SyntaxError: The text is not of the language; as the reader puts it.
    """
    reader = MathematicaParser()
    found = []
    for part in re.split(r"\n\s*\n", re.sub(r"\(\*[\s\S]*?\*\)", "", text)):
        line = re.sub(r"(\d)\*\^(-?\d+)", r"\1 * 10.^(\2)", " ".join(part.split()))
        if not line:
            continue
        try:
            tokens = reader._from_mathematica_to_tokens(line)
            found.append(reader._from_tokens_to_fullformlist(tokens))
        except (SyntaxError, RuntimeError, LookupError) as error:
            raise SyntaxError(f"{error}: {line[:200]}") from error
    return found


def evaluated(text: str) -> dict[str, Any]:
    """Values of all symbols after the text was evaluated; ``Print`` keeps what it is given last."""
    scope: Scope = {}
    for form in statements(text):
        _value(form, scope, scope)
    return dict(scope)


def _value(form: Form, scope: Scope, top: Scope) -> Any:
    if isinstance(form, str):
        return _atom(form, scope)
    head, *arguments = form
    if head in _HELD:
        return _HELD[head](arguments, scope, top)
    values = [_value(each, scope, top) for each in arguments]
    if head in _FUNCTIONS:
        return _FUNCTIONS[head](*values)
    parameters, body = top[head]
    assert len(parameters) == len(values), head
    return _value(body, ChainMap(dict(zip(parameters, values, strict=True)), top), top)


def _atom(name: str, scope: Scope) -> Any:
    if re.fullmatch(r"-?\d+", name):
        return int(name)
    if re.match(r"-?\.?\d", name):
        return float(name)
    return math.pi if name == "Pi" else scope[name]


def _set(arguments: Sequence[Form], scope: Scope, top: Scope) -> Any:
    target, value = arguments[0], _value(arguments[1], scope, top)
    pairs = [(target, value)] if isinstance(target, str) else zip(target[1:], value, strict=True)
    for name, each in pairs:
        # where the name is local, else in the file
        next((one for one in _maps(scope) if name in one), top)[name] = each
    return value


def _define(arguments: Sequence[Form], scope: Scope, top: Scope) -> None:
    (name, *patterns), body = arguments
    parameters = [each[1] for each in patterns]
    assert len(set(parameters)) == len(parameters), name
    assert name not in top, name
    top[name] = (parameters, body)


def _module(arguments: Sequence[Form], scope: Scope, top: Scope) -> Any:
    names = arguments[0][1:]
    assert len(set(names)) == len(names), names
    local = dict.fromkeys(names)
    return _value(arguments[1], ChainMap(local, *_maps(scope)), top)


def _maps(scope: Scope) -> list[Scope]:
    return list(scope.maps) if isinstance(scope, ChainMap) else [scope]


def _in_turn(arguments: Sequence[Form], scope: Scope, top: Scope) -> Any:
    return [_value(each, scope, top) for each in arguments if each != "Null"][-1]


def _if(arguments: Sequence[Form], scope: Scope, top: Scope) -> Any:
    return _value(arguments[1 if _value(arguments[0], scope, top) else 2], scope, top)


def _over(arguments: Sequence[Form], scope: Scope, top: Scope) -> Iterator[Any]:
    names = [each[1] for each in arguments[1:]]
    ends = [_value(each[2], scope, top) for each in arguments[1:]]
    for indices in product(*(range(1, end + 1) for end in ends)):
        here = ChainMap(dict(zip(names, indices, strict=True)), *_maps(scope))
        yield _value(arguments[0], here, top)


def _sum(arguments: Sequence[Form], scope: Scope, top: Scope) -> Any:
    return sum(_over(arguments, scope, top))


def _table(arguments: Sequence[Form], scope: Scope, top: Scope) -> Any:
    shape = [_value(each[2], scope, top) for each in arguments[1:]]
    return np.array(list(_over(arguments, scope, top))).reshape(shape)


def _print(arguments: Sequence[Form], scope: Scope, top: Scope) -> None:
    top["printed"] = _value(arguments[0], scope, top)


_HELD: Mapping[str, Callable[[Sequence[Form], Scope, Scope], Any]] = MappingProxyType(
    {
        "Set": _set,
        "SetDelayed": _define,
        "Module": _module,
        "CompoundExpression": _in_turn,
        "If": _if,
        "Sum": _sum,
        "Table": _table,
        "Print": _print,
    }
)


def _part(values: Any, *indices: int) -> Any:
    for index in indices:
        assert 1 <= index <= len(values)
        values = values[index - 1]
    return values


def _power(base: Any, exponent: Any) -> Any:
    return float(base) ** exponent if exponent < 0 else base**exponent


_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "List": lambda *values: list(values),
        "Dimensions": lambda values: np.shape(values),
        "Part": _part,
        "Plus": lambda *values: sum(values),
        "Times": lambda *values: math.prod(map(_array, values)),
        "Power": _power,
        "Sqrt": math.sqrt,
        "Exp": math.exp,
        "Log": math.log,
        "Erf": math.erf,
        "Erfc": math.erfc,
        "Gamma": math.gamma,
        "Floor": math.floor,
        "Abs": abs,
        "Min": min,
        "Max": max,
        **{f: getattr(math, f.lower()) for f in ("Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh")},
        **{f"Arc{f}": getattr(math, f"a{f.lower()}") for f in ("Sin", "Cos", "Tan", "Sinh")},
        "Less": lambda a, b: a < b,
        "LessEqual": lambda a, b: a <= b,
        "Greater": lambda a, b: a > b,
        "GreaterEqual": lambda a, b: a >= b,
        "Equal": lambda a, b: a == b,
        "Unequal": lambda a, b: a != b,
        "And": lambda *values: reduce(and_, values),
        "Or": lambda *values: reduce(or_, values),
        "Not": lambda value: not value,
    }
)


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, list) else value
