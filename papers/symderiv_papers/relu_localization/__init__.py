"""Working notes on localisation in a ReLU network."""

from symderiv.verification.library import Source

SOURCE = Source(
    title=("Working notes on localisation in a ReLU network (unpublished, undated)"),
    package=__name__,
    root="papers",
    prints=("printed",),
    modules=(
        "flow",
        "data_sets",
        "training",
        "one_constraint",
        "two_constraints",
        "quadrant",
        "closed_form",
        "rewritten",
        "special_cases",
        "other_order",
        "normalised",
        "large_gain",
    ),
)
