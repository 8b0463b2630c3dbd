"""Claims."""

from __future__ import annotations

from symderiv.papers.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
