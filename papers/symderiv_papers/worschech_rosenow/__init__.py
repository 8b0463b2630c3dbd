"""Worschech and Rosenow 2024."""

from symderiv.verification.library import Source

SOURCE = Source(
    title=(
        "R. Worschech and B. Rosenow, Analyzing neural scaling laws in two-layer networks "
        "with power-law data spectra, arXiv:2410.09005 (2024)"
    ),
    package=__name__,
    root="papers",
    prints=(
        "printed_setup",
        "printed_linear",
        "printed_scaling",
        "printed_escape",
    ),
    modules=(
        "setup_definitions",
        "setup_moments",
        "setup_dynamics",
        "setup_covariances",
        "setup_simulated",
        "setup_erf",
        "setup_teachers",
        "setup_plateau",
        "linear",
        "linear_curve",
        "linear_sgd",
        "linear_hierarchy",
        "linear_cross",
        "linear_solution",
        "scaling_sum",
        "scaling_time",
        "scaling_rates",
        "scaling_flow",
        "scaling_features",
        "scaling_parts",
        "scaling_blocks",
        "scaling_traces",
        "escape",
        "escape_reduced",
        "escape_time",
        "escape_scaling",
        "escape_length",
        "late",
        "late_groups",
        "late_error",
    ),
)
