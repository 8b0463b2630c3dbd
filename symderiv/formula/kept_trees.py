"""Results whose expressions come back from a file as they were written."""

from __future__ import annotations

import pickle

__all__ = ["KeptTrees"]


class KeptTrees:
    """A result of closed forms, which are functions of symbols without sums over indices.

    SymPy would simplify each part of an expression anew when it is read, which takes longer than
    to evaluate it.
    """

    def __getstate__(self) -> bytes:
        return pickle.dumps({k: v for k, v in vars(self).items() if not k.startswith("_")})

    def __setstate__(self, state: bytes) -> None:
        import sympy as sp

        with sp.evaluate(False):
            vars(self).update(pickle.loads(state))
