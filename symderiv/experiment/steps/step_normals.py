"""Normal numbers of NumPy's generator, drawn faster in one compiled loop: the same numbers.

A step on vectors spends most of its time here. NumPy calls its bit generator through a pointer for
every number, and takes its sign by a branch that no processor can foresee; with both avoided a
number takes less than a third of the time. Streams are those of ``Generator.standard_normal`` on
SFC64 to the last bit (the ziggurat of 256 layers), which is checked once in a process: if it fails,
NumPy draws. Loop and tables come with the package (``make stepper-code``); the tables are those
that numba keeps.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from symderiv.compiled_code.linked import Linked

fill_normals = Linked("symderiv.experiment.steps.normal_loop", "fill_normals", shipped=True)

_TABLES = Path(__file__).with_name("ziggurat.npy")
_FEW = 1024  # for fewer, copying the state costs more than is saved


@cache
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the tables of the ziggurat; None if they do not reproduce NumPy's numbers."""
    try:
        inside, widths, heights = np.load(_TABLES)
    except (OSError, ValueError):
        return None
    tables = inside, widths.view(np.float64), heights.view(np.float64)
    one, two = (np.random.Generator(np.random.SFC64(1)) for _ in range(2))
    here = np.empty(20_000)  # enough for some hundred cases of every edge
    _drawn(one, here, tables)
    same = np.array_equal(here, two.standard_normal(here.size)) and one.random() == two.random()
    return tables if same else None


def _drawn(
    generator: np.random.Generator,
    out: np.ndarray,
    tables: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    state = generator.bit_generator.state
    words = np.array(state["state"]["state"], dtype=np.uint64)
    fill_normals(words, out, *tables)
    state["state"]["state"] = words
    generator.bit_generator.state = state


def draw_normals(generator: np.random.Generator, out: np.ndarray) -> None:
    """Fill an array with the next standard normal numbers of a generator."""
    known = isinstance(generator.bit_generator, np.random.SFC64) and out.flags.c_contiguous
    tables = _tables() if known and out.size >= _FEW else None
    if tables is None:
        generator.standard_normal(out=out)
    else:
        _drawn(generator, out.reshape(-1), tables)


def write_tables() -> None:
    """Write the file of the tables as the 64 bits of each number, shape (3, 256)."""
    from numba.np.random import _constants as known

    inside = np.array(known.ki_double, dtype=np.uint64)
    others = (np.array(each, dtype=np.float64) for each in (known.wi_double, known.fi_double))
    np.save(_TABLES, np.stack([inside, *(each.view(np.uint64) for each in others)]))


if __name__ == "__main__":
    write_tables()
