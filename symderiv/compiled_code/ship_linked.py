"""Command that writes code of functions that comes with the package, see ``make stepper-code``.

python -m symderiv.compiled_code.ship_linked MODULE:NAME ...
"""

from __future__ import annotations

import sys
from importlib import import_module

from symderiv.compiled_code.linked import Linked

if __name__ == "__main__":
    for word in sys.argv[1:]:
        module, _, name = word.partition(":")
        function = getattr(import_module(module), name)
        if not isinstance(function, Linked):
            raise TypeError(f"{word} is not a linked function")
        function.ship()
