"""Printed formulas against what the engine derives."""

from __future__ import annotations

from symderiv.verification.by_quadrature import check_by_quadrature
from symderiv.verification.check import Check, Comparison, check_formula

__all__ = ["Check", "Comparison", "check_by_quadrature", "check_formula"]
