"""Memory that one simulated run needs to continue: its weights, generators and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


def generator_words(generator: np.random.Generator) -> np.ndarray:
    """Return the state of an SFC64 generator, shape (6,) of uint64."""
    state = generator.bit_generator.state
    return np.array(
        [*state["state"]["state"], state["has_uint32"], state["uinteger"]], dtype=np.uint64
    )


def set_generator(generator: np.random.Generator, words: np.ndarray) -> None:
    """Put a generator into the state that :func:`generator_words` gave."""
    generator.bit_generator.state = {
        "bit_generator": "SFC64",
        "state": {"state": np.array(words[:4], dtype=np.uint64)},
        "has_uint32": int(words[4]),
        "uinteger": int(words[5]),
    }


@dataclass(frozen=True)
class Snapshot:
    """A run between two examples.

    Args:
        recorded, made: results recorded and examples learnt.
        weights: the arrays that learning changes, copies.
        generators: states before the current block was drawn, shape (generators, 6); the block
            itself is not kept, it is drawn again.
    """

    recorded: int
    made: int
    weights: Mapping[str, np.ndarray]
    generators: np.ndarray


def words_of(generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Return the states of several generators, shape (generators, 6)."""
    return np.stack([generator_words(generator) for generator in generators])
