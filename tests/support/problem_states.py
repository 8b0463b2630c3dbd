"""States of problems by the names of their statements."""

from typing import Any

import numpy as np

from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.system.stated_system import StatedSystem
from symderiv.system.study_system import divided, shown_covariance


def named_state(study: Study, state: State, P: StatedSystem) -> dict[str, Any]:
    """Return a state of a problem by the names of its statement.

    Velocities are at rest, and averaged students ``A`` where the students are.

    A state has r_k = ρ_k J·B and t_k = ρ_k² B·B per eigenvalue, and the covariance T of teachers,
    of which vectors ``H`` have what the inputs do not show.
    """
    layout, rho = P.solver.layout, state.eigenvalue[:, None, None]
    found: dict[str, Any] = {
        "J.J": state.student_overlap,
        "J.B": divided(state.cross_overlap, rho),
        "B.B": divided(state.teacher_overlap, rho**2),
    }
    if "H" in layout.families:
        found["H.H"] = state.teacher_covariance - shown_covariance(state)
    if "A" in layout.families:
        found |= {"J.A": found["J.J"], "A.A": found["J.J"]}
        found["B.A"] = np.swapaxes(found["J.B"], -1, -2)
    for name in layout.names:
        if "." in name:
            found.setdefault(name, np.zeros(layout.shape(name)))
    for name in layout.scalars:
        at_rest = name.endswith("_velocity")
        begin = study.student_biases if name == "b" else state.student_weights
        found[name] = np.zeros(state.K) if at_rest else begin
    return found
