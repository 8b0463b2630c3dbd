"""Names of what closed forms of symmetric states are written in; :mod:`symderiv.analysis.symmetric`
says what they are.
"""

from __future__ import annotations

import sympy as sp

Q, C, R, S, T, D = sp.symbols("Q C R S T D", real=True)
V, V_TEACHER = sp.symbols("v v_teacher", real=True)
A_SAME, A_OTHER, B_SAME, B_OTHER, GAMMA_SAME, GAMMA_OTHER = sp.symbols(
    "A_same A_other B_same B_other Gamma_same Gamma_other", real=True
)
