"""Printed formulas against what the engine derives."""

from __future__ import annotations

from symderiv_ledger.formulas.by_quadrature import check_by_quadrature
from symderiv_ledger.formulas.check import Check, Comparison, check_formula

__all__ = ["Check", "Comparison", "check_by_quadrature", "check_formula"]
