"""How many right-hand sides runs take, and those that are made only to state their errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from symderiv.integrate.ensemble import chunks
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.study_flow import Flow
from symderiv.problem.flat_layout import fields_of


@dataclass
class Counts:
    """Integrations with the right-hand sides that each took; the overlaps Q of each, if known."""

    made: list[tuple[int, np.ndarray | None]] = field(default_factory=list)

    def cost(self, Q: np.ndarray) -> float:
        """Right-hand sides of all integrations but the one with these overlaps, over its own."""
        own = [count for count, found in self.made if found is None or np.array_equal(found, Q)]
        return (sum(count for count, _ in self.made) - own[0]) / own[0]


@contextmanager
def counted(kind: type[Flow]) -> Iterator[Counts]:
    """Count the integrations of flows of a kind, one by one or in lanes."""
    counts = Counts()
    with pytest.MonkeyPatch.context() as patch:
        run = kind.run

        def counting(self: Flow, *args: Any, **options: Any) -> FlatResult:
            found = run(self, *args, **options)
            state = self.state
            rows = found.results[: found.reached]
            overlaps = fields_of(rows, state.weight, state.eigenvalue, state.K, state.M)[3]
            counts.made.append((found.rhs_evaluations, overlaps))
            return found

        patch.setattr(kind, "run", counting)
        in_lanes = chunks.run_in_lanes

        def counting_lanes(*args: Any, **options: Any) -> Any:
            found = in_lanes(*args, **options)
            counts.made.append((int(found.ended["evaluations"].sum()), None))
            return found

        patch.setattr(chunks, "run_in_lanes", counting_lanes)
        yield counts
