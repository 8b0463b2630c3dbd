r"""Vectors of the input space as sums of fresh inputs and slow vectors, and their inner products.

A vector expression is Σ_t f_t ξ^t + Σ_b g_b w_b/√N with SymPy coefficients. Inner products of its
parts are symbols: a field w·ξ/√N, an overlap w·v/N, and a size ξ·ξ' of order N. A slow vector w
stands for w/√N wherever it is part of a vector expression, so that all sizes agree: ``w @ x`` is
the field w·ξ/√N, ``w @ B`` the overlap w·B/N and ``x + c * U`` the input ξ + c U/√N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import sympy as sp

from symderiv.formula.exact_entries import without_floats
from symderiv.foundation.errors import InputError, NotClosed, ShapeError
from symderiv.foundation.named_arguments import public


def as_expression(value: Any, what: str = "a coefficient") -> sp.Expr:
    """Return the value as an exact SymPy expression; floats become the decimals printed for them.

    Raises:
        InputError: The value is not a finite real scalar.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | str) or not isinstance(value, int | float | sp.Basic):
        given = f"the text {value!r}" if isinstance(value, str) else type(value).__name__
        raise InputError(f"{what} must be a number or a SymPy expression, not {given}")
    expression = sp.sympify(value)
    if not isinstance(expression, sp.Expr) or expression.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
        raise InputError(f"{what} must be a finite real expression, not {expression}")
    for symbol in expression.free_symbols:
        if isinstance(symbol, _Coordinates):
            raise _of_coordinates(symbol.name)
    return without_floats(expression)


class ExpressionArray(np.ndarray):
    """An object array of expressions or vectors, for which NumPy has arithmetic alone."""

    _op_priority = 1000.0  # SymPy leaves arithmetic to the array

    def _sympy_(self) -> sp.Expr:
        """Refuse to be the argument of a function of SymPy, which takes one expression."""
        raise InputError(
            "SymPy's functions take one field, and w @ x has several; write "
            'sd.activation("tanh")(w @ x), or a list [sympy.tanh(h) for h in w @ x]'
        )

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        """Return what NumPy makes of the entries, as an array like this one, or one entry.

        Raises:
            InputError: NumPy's function is one of numbers only.
        """
        written = kwargs.get("out", ())
        if written:
            kwargs["out"] = tuple(map(_plain, written))
        try:
            result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        except ValueError as error:
            shapes = " and ".join(str(np.shape(each)) for each in inputs)
            if "broadcast" not in str(error):
                raise
            raise ShapeError(f"arrays of shapes {shapes} do not fit; give one value each") from None
        except TypeError as error:
            if not any(each in str(error) for each in _OF_NUMBERS):
                raise
            name = _SYMPY_NAMES.get(ufunc.__name__, ufunc.__name__)
            known = name if hasattr(sp, name) else "tanh"
            raise InputError(
                f"np.{ufunc.__name__} takes numbers, and fields are symbols; write "
                f'sd.activation("tanh")(w @ x), or sympy.{known} of one field'
            ) from None
        if len(written) == 1:
            return written[0]
        return result.view(ExpressionArray) if isinstance(result, np.ndarray) else result


_OF_NUMBERS = "has no callable", "truth value of Relational", "not supported for the input types"
"""What NumPy and SymPy say where a function of NumPy meets an expression."""
_SYMPY_NAMES = {"maximum": "Max", "minimum": "Min", "fabs": "Abs", "heaviside": "Heaviside"}
_SYMPY_NAMES |= {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, ExpressionArray) else value


def _no_vector(vector: object, what: str, other: object) -> InputError:
    """Return the error for arithmetic of a vector with what is none."""
    given = " ".join(repr(other).split())
    return InputError(
        f"{what} of the vector {vector} is one with another vector, not with {given[:60]}; only "
        "products with * take numbers and expressions"
    )


def _elementwise(function: Callable[[Any], Any], values: Any) -> np.ndarray:
    """Return an object array with a function applied to each entry."""
    array = np.asarray(values, dtype=object)
    result = np.empty(array.shape, dtype=object).view(ExpressionArray)
    for place in np.ndindex(array.shape):
        result[place] = function(array[place])
    return result


class _Coordinates(sp.Dummy):  # type: ignore[misc]
    """The symbol that SymPy's functions take for a vector, which every statement refuses."""


def _of_coordinates(vector: object) -> NotClosed:
    """Return the error for a function of the coordinates of a vector."""
    return NotClosed(
        f"a function of the coordinates of {vector} depends on every one of the N numbers, not on "
        "finitely many fields: no overlaps describe it; use functions of fields w @ x and overlaps "
        "w.dot(B) as factors of vectors",
        average="(1/N) Σ_a E[f(x_a, w_a)] over coordinates a",
        statement=f"update with a function of coordinates of {vector}",
    )


class Register(Protocol):
    """The interface of a register of symbols; see :class:`symderiv.statement.register.Symbols`."""

    def product(self, first: Atom, second: Atom) -> sp.Symbol:
        """Return the symbol of an inner product."""

    def in_copy(self, expression: sp.Expr, episode: Episode, copy: FreshInput) -> sp.Expr:
        """Return an expression with the example of an episode replaced by a copy."""


class VectorExpression:
    """A vector of the input space: fresh inputs and slow vectors (over √N) with coefficients.

    Args:
        symbols: The register of the system that the vectors belong to.
        terms: Coefficients by atom; zeros are left out.
    """

    __array_ufunc__ = None  # NumPy defers products with arrays to __rmul__ and the like
    _op_priority = 1000.0  # SymPy defers, too

    def __init__(self, symbols: Register, terms: Mapping[Atom, sp.Expr]) -> None:
        self.symbols = symbols
        self._terms = {atom: value for atom, value in terms.items() if value != 0}

    @property
    def terms(self) -> Mapping[Atom, sp.Expr]:
        """Coefficients by fresh input or slow vector."""
        return self._terms

    def map(self, function: Callable[[sp.Expr], sp.Expr]) -> VectorExpression:
        """Return the vector with a function applied to every coefficient."""
        return VectorExpression(self.symbols, {a: function(f) for a, f in self.terms.items()})

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return _elementwise(self.__add__, other)
        if isinstance(other, int | sp.Integer) and other == 0:
            return self
        if isinstance(other, _Several):
            return NotImplemented
        if not isinstance(other, VectorExpression):
            raise _no_vector(self, "the sum", other)
        terms = dict(self.terms)
        for atom, value in other.terms.items():
            terms[atom] = terms.get(atom, sp.S.Zero) + value
        return VectorExpression(self.symbols, terms)

    __radd__ = __add__

    def __neg__(self) -> VectorExpression:
        return self.map(lambda value: -value)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return _elementwise(self.__sub__, other)
        if isinstance(other, _Several):
            return NotImplemented
        if not isinstance(other, VectorExpression):
            raise _no_vector(self, "the difference", other)
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, np.ndarray):
            return _elementwise(self.__mul__, factor)
        if isinstance(factor, VectorExpression | SlowVectors | InputSequence):
            raise InputError(
                f"{self} and {factor} are vectors; write their inner product as @, and products "
                "with numbers and expressions as *"
            )
        value = as_expression(factor, "a factor of a vector")
        return self.map(lambda coefficient: value * coefficient)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return self * (1 / as_expression(divisor, "a divisor of a vector"))

    def __matmul__(self, other: Any) -> Any:
        """Return the inner product: a SymPy expression in fields, overlaps and sizes."""
        if isinstance(other, np.ndarray | SlowVectors | InputSequence):
            return _elementwise(self.__matmul__, list(other))
        if not isinstance(other, VectorExpression):
            raise _no_vector(self, "the inner product", other)
        if other.symbols is not self.symbols:
            raise InputError("the vectors belong to different systems")
        return sp.Add(
            *(
                f * g * self.symbols.product(a, b)
                for a, f in self.terms.items()
                for b, g in other.terms.items()
            )
        )

    def __rmatmul__(self, other: Any) -> Any:
        return _elementwise(self.__matmul__, other)

    def __rtruediv__(self, other: Any) -> Any:
        raise InputError(f"{self} is a vector, by which nothing can be divided")

    def _sympy_(self) -> sp.Symbol:
        return _Coordinates(repr(self))

    def __abs__(self) -> Any:
        raise _of_coordinates(self)

    def __pow__(self, power: Any) -> Any:
        raise _of_coordinates(self)

    def __repr__(self) -> str:
        return " + ".join(f"({f})*{atom.name}" for atom, f in self.terms.items()) or "0"


class _Atom(VectorExpression):
    """A named vector, which is its own only term."""

    def __init__(self, symbols: Register, name: str) -> None:
        super().__init__(symbols, {})
        self.name = name

    @property
    def terms(self) -> Mapping[Atom, sp.Expr]:
        """The vector itself, with coefficient one."""
        return {self: sp.S.One}  # type: ignore[dict-item]

    def __repr__(self) -> str:
        return self.name


class SlowVector(_Atom):
    """A vector of N components that moves a little with every example, or not at all.

    Args:
        symbols: The register of its system.
        family: The name under which it was declared.
        index: Its place in the family; None if it is alone.
        fixed: It never moves.
    """

    def __init__(self, symbols: Register, family: str, index: int | None, fixed: bool) -> None:
        super().__init__(symbols, family if index is None else f"{family}{index + 1}")
        self.family, self.index, self.fixed = family, index, fixed

    def dot(self, other: Any) -> Any:
        """Return the overlap w·v/N with a slow vector, an array with several."""
        return self @ other

    def __iter__(self) -> Iterator[SlowVector]:
        raise TypeError(
            f"{self.name} is one vector; declare several with vectors({self.name!r}, K)"
        )


_Member = TypeVar("_Member")


class _Several(Generic[_Member]):
    """Several vectors under one name; arithmetic acts on each."""

    __array_ufunc__ = None

    def __init__(self, members: tuple[_Member, ...]) -> None:
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[_Member]:
        return iter(self._members)

    def __getitem__(self, place: int) -> _Member:
        try:
            return self._members[place]
        except (IndexError, TypeError):
            raise InputError(
                f"{self} has no member {place!r}; members count from 0 to {len(self) - 1}"
            ) from None

    @property
    def array(self) -> np.ndarray:
        """The members as an object array of shape (K,)."""
        return _elementwise(lambda each: each, list(self._members))

    def __mul__(self, factors: Any) -> np.ndarray:
        """Return the array of each member times its own factor, or times a common one."""
        if isinstance(factors, _Several):
            factors = factors.array
        result: np.ndarray = self.array * np.asarray(factors, dtype=object)
        return result

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> np.ndarray:
        """Return the array of each member over a common number or expression."""
        return self.__mul__(1 / as_expression(divisor, "a divisor of vectors"))

    def __rtruediv__(self, other: Any) -> Any:
        raise InputError(f"{self} is several vectors, by which nothing can be divided")


class SlowVectors(_Several[SlowVector]):
    """Several slow vectors under one name; arithmetic acts on each."""

    _op_priority = 1000.0

    def __init__(self, members: tuple[SlowVector, ...]) -> None:
        super().__init__(members)
        self.family = members[0].family
        self.fixed = members[0].fixed

    def __matmul__(self, other: Any) -> np.ndarray:
        """Return the inner products with a vector, shape (K,), or with several, shape (K, L)."""
        rows = [each @ other for each in self._members]
        return np.array(rows, dtype=object).view(ExpressionArray)

    def dot(self, other: Any) -> np.ndarray:
        """Return the overlaps w_k·v_n/N, shape (K,) or (K, M)."""
        return self.__matmul__(other)

    def _sympy_(self) -> sp.Symbol:
        return _Coordinates(self.family)

    def __abs__(self) -> Any:
        raise _of_coordinates(self.family)

    def __pow__(self, power: Any) -> Any:
        raise _of_coordinates(self.family)

    def __rmatmul__(self, coefficients: Any) -> Any:
        """Return Σ_k s_k v_k/√N for coefficients of shape (K,), an array of sums for (n, K)."""
        values = np.asarray(coefficients, dtype=object)
        if values.ndim == 0 or values.shape[-1] != len(self):
            raise ShapeError(
                f"{self.family} has {len(self)} vectors, the coefficients have shape {values.shape}"
            )
        if values.ndim > 1:
            return _elementwise(lambda place: values[place] @ self, np.arange(values.shape[0]))
        total: Any = self._members[0] * values[0]
        for value, member in zip(values[1:], self._members[1:], strict=True):
            total = total + value * member
        return total

    def __neg__(self) -> np.ndarray:
        return self.__mul__(-1)

    def __add__(self, other: Any) -> np.ndarray:
        result: np.ndarray = self.array + (other.array if isinstance(other, SlowVectors) else other)
        return result

    __radd__ = __add__

    def __sub__(self, other: Any) -> np.ndarray:
        result: np.ndarray = self.array - (other.array if isinstance(other, SlowVectors) else other)
        return result

    def __rsub__(self, other: Any) -> np.ndarray:
        result: np.ndarray = -self + other
        return result

    def __repr__(self) -> str:
        return f"{self.family}[{len(self)}]"


class FreshInput(_Atom):
    """One Gaussian input vector of a step.

    Args:
        symbols: The register of its system.
        source: The name under which its inputs were declared.
        position: Its token, 0 for the only one.
        copy: Its example in an episode, None if there is no episode.
        name: Its name in symbols.
    """

    def __init__(
        self, symbols: Register, source: str, position: int, copy: int | None, name: str
    ) -> None:
        super().__init__(symbols, name)
        self.source, self.position, self.copy = source, position, copy

    def again(self) -> FreshInput:
        """Refuse an example that was used in an earlier step.

        Raises:
            NotClosed: Always: weights remember such an example, and means over fresh ones do not.
        """
        raise NotClosed(
            f"an example {self.name} that is used twice is correlated with the weights that "
            "learned from it: fields are no longer Gaussian given the overlaps; draw a fresh one",
            average=f"E[F(h) ξ·w/√N] with w that has seen {self.name}",
            statement=f"{self.name}.again()",
        )


class InputSequence(_Several[FreshInput]):
    """The tokens x[0] … x[L − 1] of one step."""

    def __init__(self, name: str, tokens: tuple[FreshInput, ...]) -> None:
        super().__init__(tokens)
        self.name = name

    def __add__(self, other: Any) -> np.ndarray:
        """Return the array of the tokens plus a vector, or plus one vector for each token."""
        result: np.ndarray = self.array + other
        return result

    __radd__ = __add__

    def __repr__(self) -> str:
        return f"{self.name}[{len(self)}]"


class Episode(FreshInput):
    """An example of an episode: T independent copies per step, over which sums and means run.

    Args:
        symbols: The register of its system.
        name: The name as declared.
        copies: The inputs that it stands for.
        of: Another input of the same examples, over which sums and means run together.
    """

    def __init__(
        self,
        symbols: Register,
        name: str,
        copies: tuple[FreshInput, ...],
        of: Episode | None = None,
    ) -> None:
        super().__init__(symbols, name, 0, -1, name)
        self.copies = copies
        self.root: Episode = self if of is None else of.root

    def _of_copy(self, value: Any, copy: FreshInput) -> Any:
        """Return an expression, or a vector, with this example replaced by a copy."""
        if isinstance(value, VectorExpression):
            renamed = value.map(lambda f: self.symbols.in_copy(f, self, copy))
            terms = {self.in_copy(atom, copy): f for atom, f in renamed.terms.items()}
            return VectorExpression(self.symbols, terms)
        return self.symbols.in_copy(as_expression(value), self, copy)

    def in_copy(self, atom: Atom, copy: FreshInput) -> Atom:
        """Return a copy in place of an input that is an example of this episode; others
        unchanged.
        """
        if isinstance(atom, Episode) and atom.root is self.root:
            assert copy.copy is not None
            return atom.copies[copy.copy]
        return atom

    def sum(self, value: Any) -> Any:
        """Return the sum over the examples of an expression, a vector, or an array of these."""
        if isinstance(value, np.ndarray):
            return _elementwise(self.sum, value)
        total: Any = sp.S.Zero
        for copy in self.copies:
            total = self._of_copy(value, copy) + total
        return total

    def mean(self, value: Any) -> Any:
        """Return the mean over the examples of an expression, a vector, or an array of these."""
        return self.sum(value) * sp.Rational(1, len(self.copies))

    def all(self, condition: Any) -> sp.Expr:
        """Return 1 if the condition holds for every example, else 0, as an expression."""
        from symderiv.statement.indicators import indicator

        one = indicator(condition)
        return sp.Mul(*(self._of_copy(one, copy) for copy in self.copies))


class Batch(FreshInput):
    """An example of a batch of cN fresh ones per step, over which means run."""

    def __init__(self, symbols: Register, name: str) -> None:
        super().__init__(symbols, name, 0, None, name)

    def mean(self, value: Any) -> Any:
        """Return the mean over the batch of an expression, a vector, or an array of these."""
        from symderiv.statement.batches import BatchMean

        if isinstance(value, np.ndarray):
            return _elementwise(self.mean, value)
        if isinstance(value, VectorExpression):
            return value.map(BatchMean)
        return BatchMean(as_expression(value))


Atom = SlowVector | FreshInput


@public
def norm2(vector: VectorExpression) -> sp.Expr:
    """Return the squared norm of a vector expression.

    Args:
        vector: A sum of inputs and slow vectors with coefficients, e.g. ``x - s @ v``.

    Returns:
        A SymPy expression in fields, overlaps and the squared norms of the inputs, which are of
        order N. A loss may contain these only where they multiply nothing that is trained.

    Raises:
        InputError: The argument is not a vector.
    """
    if not isinstance(vector, VectorExpression):
        raise InputError(f"norm2 takes a vector expression, not {type(vector).__name__}")
    result: sp.Expr = vector @ vector
    return result
