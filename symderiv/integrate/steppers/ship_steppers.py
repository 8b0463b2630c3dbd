"""Writes the steppers' code that comes with the package; ``make stepper-code`` says how."""

from __future__ import annotations

from symderiv.compiled_code.shipped_code import ship
from symderiv.integrate.steppers.run_code import shipped_path
from symderiv.integrate.steppers.stepper import stepper
from symderiv.integrate.steppers.stepper_sources import stepper_digest
from symderiv.integrate.steppers.walk import EXPLICIT, IMPLICIT

if __name__ == "__main__":
    for method, width in ((EXPLICIT, 1), (IMPLICIT, 1), (EXPLICIT, 8)):
        ship(shipped_path(method, width), stepper(width, method), stepper_digest())
