"""Printed formulas against what the engine derives."""

from __future__ import annotations

from symderiv.papers.check import Check, Comparison, check_formula

__all__ = ["Check", "Comparison", "check_formula"]
