"""Demir and Dogan 2025: one gradient step on mixtures; its claims are still to come."""

from symderiv.verification.library import Source

SOURCE = Source(
    title="Demir and Dogan, slides on one gradient step (2025)", package=__name__, root="papers"
)
