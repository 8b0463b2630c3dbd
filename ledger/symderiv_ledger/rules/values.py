"""Values of the names in statements at one point."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from symderiv.foundation.errors import FormulaError

__all__ = ["Indexed", "OutOfRangeError", "Values", "extended"]


class OutOfRangeError(FormulaError):
    """An index is outside the range that its quantity has."""


class Indexed:
    """A quantity with indices that start where the paper starts them.

    Args:
        values: A nested sequence, a matrix, or a function of the indices.
        *ranges: First and last value of each index.
    """

    def __init__(self, values: Any, *ranges: tuple[int, int]) -> None:
        self.values = values
        self.ranges = ranges

    def __getitem__(self, indices: tuple[int, ...]) -> Any:
        if len(indices) != len(self.ranges):
            raise OutOfRangeError(f"{len(self.ranges)} indices are needed, not {len(indices)}")
        for index, (first, last) in zip(indices, self.ranges, strict=True):
            if not first <= index <= last:
                raise OutOfRangeError(f"index {index} is outside {first}..{last}")
        if callable(self.values):
            return self.values(*indices)
        value = self.values
        offsets = [i - first for i, (first, _) in zip(indices, self.ranges, strict=True)]
        if hasattr(value, "rows") and len(offsets) == 2:
            return value[offsets[0], offsets[1]]
        for offset in offsets:
            value = value[offset]
        return value


class Values(Mapping[str, Any]):
    """Names and what they stand for at one point; a value given as ``lazy`` is computed once."""

    def __init__(
        self,
        known: Mapping[str, Any] | None = None,
        lazy: Mapping[str, Callable[[], Any]] | None = None,
    ) -> None:
        self._known = dict(known or {})
        self._lazy = dict(lazy or {})

    def __getitem__(self, name: str) -> Any:
        if name not in self._known and name in self._lazy:
            self._known[name] = self._lazy[name]()
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a name; nothing is computed for that."""
        return name in self._known or name in self._lazy

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._lazy]))

    def __len__(self) -> int:
        return len(list(iter(self)))


def extended(values: Mapping[str, Any], names: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values with more names in front; lazy ones stay lazy."""
    others = values.maps if isinstance(values, ChainMap) else [values]
    return ChainMap(dict(names), *others)
