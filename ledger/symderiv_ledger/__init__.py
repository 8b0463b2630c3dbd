"""Printed formulas against what the engine derives."""

from __future__ import annotations

from symderiv_ledger.formulas.check import Check, check_formula
from symderiv_ledger.formulas.formula_sides import ByQuadrature, FormulaComparison, InClosedForm

__all__ = ["ByQuadrature", "Check", "FormulaComparison", "InClosedForm", "check_formula"]
