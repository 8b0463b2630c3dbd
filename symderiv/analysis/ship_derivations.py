"""Write the derivations of named activations that come with the package (``make kernels``)."""

from __future__ import annotations

from symderiv.analysis.late.perfect_learning import matrix_texts, perfect_learning
from symderiv.analysis.linear.system import linear_system
from symderiv.analysis.plateau.plateau_report import derived, kept_flow
from symderiv.analysis.shipped_derivations import MODULES, SHIPPED
from symderiv.formula import activation
from symderiv.foundation.derivation_cache import Call, imports_digest, package_folders, ship
from symderiv.learning.rule.learning_rule import PLAIN
from symderiv.lowering.programs import exported

_ERF, _RELU = activation("erf"), activation("relu")

#: Calls that derive plateaus, perfect learning and linear networks.
ANALYSES: tuple[Call, ...] = (
    (perfect_learning, (_ERF.text,)),
    (matrix_texts, (_ERF.text, 1, 0)),
    (derived, (_ERF,)),
    (kept_flow, (_ERF, True)),
    (kept_flow, (_ERF, True, 2)),
    (kept_flow, (_ERF, True, 3)),
    (derived, (_RELU,)),
    (kept_flow, (_RELU, True)),
    *((kept_flow, (_RELU, noise, units)) for noise in (True, False) for units in (2, 3)),
    (linear_system, ()),
)
#: Calls that derive programs of plain descent; the means of these activations need no tolerance.
PROGRAMS: tuple[Call, ...] = tuple(
    call
    for name in ("erf", "relu", "linear")
    for call in (
        (exported.program_fields, (name, name, PLAIN, None)),
        (exported.precise_text, (name, name, PLAIN)),
        (exported.tangent_observables_text, (name, name, PLAIN, None)),
        (exported.tangent_module_text, (name, name, PLAIN, None, ())),
        (exported.tangent_module_text, (name, name, PLAIN, None, ("learning_rate",))),
    )
)


def digests() -> tuple[str, str]:
    """Return the digests of the sources of analyses and of programs."""
    codegen = package_folders("symderiv_codegen")
    return imports_digest(*MODULES), imports_digest(exported.__name__, also=codegen)


if __name__ == "__main__":
    analyses, programs = digests()
    ship(exported.SHIPPED_PROGRAMS, programs, *PROGRAMS)
    ship(SHIPPED, analyses, *ANALYSES)
