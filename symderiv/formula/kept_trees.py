"""Results whose expressions are restored unchanged from a file, with SymPy or without it."""

from __future__ import annotations

import copyreg
import io
import pickle
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from symderiv.formula.known_functions import KNOWN

T = TypeVar("T")

_NUMBERS: Final = {
    "Zero": Fraction(0),
    "One": Fraction(1),
    "NegativeOne": Fraction(-1),
    "Half": Fraction(1, 2),
}
#: Names of nodes that every kind of number can evaluate, without those that compare arguments.
_NODES: Final = {
    *("Add", "Mul", "Pow", "Pi", "Exp1", "ImaginaryUnit", "Abs", "OpaqueRoot", "re", "im"),
    *(name for name, known in KNOWN.items() if known.ball and name != "sign"),
}


class KeptTrees:
    """A result made of closed forms, which are functions of symbols without sums over indices.

    Its trees are restored on first use, because importing SymPy takes longer than evaluating
    :attr:`plain`. They are restored without evaluation, or SymPy would simplify each part anew.
    """

    def __getstate__(self) -> bytes:
        own = vars(self)
        if "_kept" not in own:
            for name, each in vars(type(self)).items():
                if isinstance(each, kept_property):
                    getattr(self, name)
                elif name in own:
                    raise TypeError(f"{name} has a default, which would hide what is kept")
            own["_kept"] = _written({k: v for k, v in own.items() if not k.startswith("_")})
        written: bytes = own["_kept"]
        return written

    def __setstate__(self, state: bytes) -> None:
        vars(self)["_kept"] = state

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and self._read() and name in vars(self):
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _read(self) -> bool:
        """Restore the attributes with SymPy, once; return whether this was done now."""
        own = vars(self)
        if "_kept" not in own or own.get("_is_read", False):
            return False
        import sympy as sp

        with sp.evaluate(False):
            own.update(pickle.loads(own["_kept"]), _is_read=True)
        return True

    @property
    def plain(self) -> Any:
        """Return the attributes with trees that are evaluated without SymPy.

        Rationals are fractions, symbols their names, matrices lists of rows. Trees stay SymPy's if
        one of their functions is only in SymPy.
        """
        own = vars(self)
        if "_plain" not in own:
            try:
                state = _PlainReader(io.BytesIO(self.__getstate__())).load()
            except pickle.UnpicklingError:
                self._read()
                state = {name: getattr(v, "tolist", lambda v=v: v)() for name, v in own.items()}
            own["_plain"] = SimpleNamespace(**state)
        return own["_plain"]


class kept_property(cached_property[T]):  # noqa: N801
    """A cached property of a :class:`KeptTrees` that is stored with it."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is not None:
            instance._read()
        return super().__get__(instance, owner)


class PlainNode:
    """A node of a tree whose kind is told by the name of its class, as with SymPy's nodes."""

    __slots__ = ("args",)
    args: tuple[Any, ...]
    made: dict[tuple[Any, ...], PlainNode]

    def __new__(cls, *args: Any) -> PlainNode:
        """Return the one node with these arguments, so that equal nodes are computed once."""
        if args not in cls.made:
            cls.made[args] = super().__new__(cls)
            cls.made[args].args = args
        return cls.made[args]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.args))})"


class _PlainReader(pickle.Unpickler):
    """An unpickler that reads SymPy's trees as plain ones."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self._kinds: dict[str, Any] = {
            "Symbol": _SymbolName,
            "Integer": Fraction,
            "Rational": Fraction,
            "MutableDenseMatrix": list,
        }

    def find_class(self, module: str, name: str) -> Any:
        if not module.startswith(("sympy.", "symderiv.gaussian.")):
            return super().find_class(module, name)
        if name in _NUMBERS:
            self._kinds[name] = type(name, (), {"__new__": lambda _, name=name: _NUMBERS[name]})
        elif name in _NODES:
            self._kinds[name] = type(name, (PlainNode,), {"made": {}, "__slots__": ()})
        if name not in self._kinds:
            raise pickle.UnpicklingError(f"{name} is evaluated by SymPy")
        return self._kinds[name]


class _SymbolName(str):
    """The name of a symbol, without its assumptions."""

    def __new__(cls, name: str, **_: bool) -> str:  # type: ignore[misc]
        return str(name)


def _written(state: dict[str, Any]) -> bytes:
    """Return attributes as bytes, with matrices as lists of rows."""
    import sympy as sp

    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.dispatch_table = copyreg.dispatch_table.copy()
    pickler.dispatch_table[sp.Matrix] = lambda matrix: (sp.Matrix, (matrix.tolist(),))
    pickler.dump(state)
    return file.getvalue()
