"""Questions as lines of a batch, each with its own keys; all are answered, despite errors.

The keys are the names of the commands' options; the manual's page "How do I ask many questions at
once?" has examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from typing import Any, Final

from symderiv.api.questions.expectation import Expectation
from symderiv.api.questions.means import integral, mean
from symderiv.formula.json_values import load_json
from symderiv.formula.reader import quoted
from symderiv.foundation.errors import InputError, SymderivError, defect

_LONGEST: Final = 1_000_000

#: For each kind of question, the arguments by keys of a line; the first key is the kind.
_KEYS: Final = {
    kind: {name if place else kind: name for place, name in enumerate(signature(call).parameters)}
    for kind, call in (("expr", mean), ("integral", integral))
}


def answers(lines: Iterable[bytes], defaults: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one JSON object per line: the answer's ``to_dict()``, or ``{"error": ...}``.

    Args:
        lines: JSON objects in UTF-8, each with the keys of one question.
        defaults: Values of keys that a line leaves out.
    """
    for line in lines:
        yield _record(line, defaults)


def answer(values: Mapping[str, Any]) -> Expectation:
    """Return the answer to the question that keys and values state; errors name the keys."""
    kinds = [kind for kind in _KEYS if kind in values]
    if len(kinds) != 1:
        raise InputError("give one of the keys expr or integral")
    names = _KEYS[kinds[0]]
    for key in values:
        if key not in names:
            allowed = ", ".join(sorted(names))
            raise InputError(
                f"unknown key {quoted(str(key))} beside {kinds[0]}; allowed: {allowed}"
            )
    given = {names[key]: value for key, value in values.items()}

    return mean(**{"covariance": None, **given}) if kinds == ["expr"] else integral(**given)


def _record(line: bytes, defaults: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return answer(_values(line, defaults)).to_dict()
    except SymderivError as error:
        keys = {argument: key for names in _KEYS.values() for key, argument in names.items()}
        error = error.renamed(keys.get(error.argument or "", error.argument))
        return {"error": " ".join(str(error).split())}
    except Exception as error:
        # an error in one line must not keep the following lines from being answered
        return {"error": defect(error)}


def _values(line: bytes, defaults: Mapping[str, Any]) -> dict[str, Any]:
    if len(line) > _LONGEST:
        raise InputError(f"the line is longer than {_LONGEST} bytes")
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise InputError("the line is not UTF-8 text") from None
    if not text:
        raise InputError("the line is empty")
    record = load_json(text, "the line")
    if not isinstance(record, dict):
        raise InputError("the line is not a JSON object")
    # defaults replace keys that the line leaves out
    kind = "expr" if "expr" in record else "integral"
    missing = {key: value for key, value in defaults.items() if key in _KEYS[kind]}
    if "activation" in record or "activations" in record:
        missing.pop("activation", None)
        missing.pop("activations", None)
    return {**missing, **record}
