"""The common base of all input models of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np
from pydantic import PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from symderiv.foundation.named_arguments import public
from symderiv.foundation.showing import plain
from symderiv.inputs.given import Given
from symderiv.keys.checked import Table, explained

if TYPE_CHECKING:
    from symderiv.inputs import DataModel

Constructor = TypeVar("Constructor", bound=Callable[..., None])


class InputModel(Table):
    """A model of the inputs; see the classes made from this one."""

    #: The key that says how many coordinates inputs have.
    DIMENSION: ClassVar[str] = "dimension"

    def build(self, base: Path) -> DataModel:
        """Return the eigenvalues and all other data that equations and simulations need.

        Args:
            base: the folder that files are relative to.

        Raises:
            InputError: values do not fit, or a file cannot be used.
        """
        raise NotImplementedError

    def built(self, base: Path) -> DataModel:
        """Build once, as :meth:`build`."""
        by_folder: dict[Path, DataModel] = self.__dict__.setdefault("_kept", {})
        if base not in by_folder:
            by_folder[base] = self.build(base)
        return by_folder[base]

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        inside = {name: v for name, v in state["__dict__"].items() if name != "_kept"}
        return {**state, "__dict__": inside}

    def _fill(self, values: Mapping[str, Any], **instead: Any) -> None:
        """Store checked values of the keys: the body of every ``__init__``.

        Args:
            values: its local variables; names that are not keys are ignored, and None counts as not
                given.
            instead: values of keys in place of arguments of these names.
        """
        fields = type(self).model_fields
        given = {
            name: _python(value)
            for name, value in {**values, **instead, "model": fields["model"].default}.items()
            if value is not None and name in fields
        }
        try:
            self.__pydantic_validator__.validate_python(given, self_instance=self)
        except ValidationError as error:
            raise explained(error) from None


def _python(value: Any) -> Any:
    """Return NumPy's scalars and arrays, tuples and paths as plain values that a study can hold."""
    if isinstance(value, Given | str | bool | float):
        return value
    if isinstance(value, PathLike):
        return fspath(value)
    return plain(value, finite=False)


def _file_or_arrays(value: Any) -> str | Given:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, str) or not isinstance(value, Given | np.ndarray | list | Mapping):
        raise PydanticCustomError("file", "should be the name of a file, or a matrix")
    return value if isinstance(value, Given) else Given(value)


#: A file of arrays, or the arrays themselves.
FileOrArrays = Annotated[str | Given, PlainValidator(_file_or_arrays)]


def arrays(file: Any, **named: Any) -> Any:
    """Return a file's name, one matrix, or named matrices."""
    there = {name: array for name, array in named.items() if array is not None}
    if there:
        return Given(there) if file is None else file
    if file is None or isinstance(file, str | Given | PathLike):
        return file
    return Given(file)


def filling(constructor: Constructor) -> Constructor:
    """Mark an ``__init__`` that ends in ``_fill``: pydantic need not go through it."""
    constructor = public(constructor)
    constructor.__pydantic_base_init__ = True  # type: ignore[attr-defined]
    return constructor
