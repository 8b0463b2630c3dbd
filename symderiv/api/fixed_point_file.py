"""One fixed point of a problem as a theorem for Coq."""

from __future__ import annotations

from symderiv.api.arguments.argument_names import naming_arguments
from symderiv.api.results.flows.stationary import points_of
from symderiv.api.results.flows.stationary_flow import StationaryFlow
from symderiv.api.results.rate_function import formulas_of
from symderiv.enclosures.coq_fixed_point import coq_fixed_point
from symderiv.enclosures.proved_step import VectorField
from symderiv.enclosures.traced_flow import TracedFlow
from symderiv.foundation.errors import InputError, NotYetError, ToleranceError
from symderiv.precision.balls.krawczyk import proved_root
from symderiv.precision.balls.working import working_bits
from symderiv.problem.study import Study

_BITS, _STARTS = 320, 12


@naming_arguments()
def fixed_point_source(study: Study, number: int) -> str:
    """Return a Coq file that proves that a box holds exactly one fixed point.

    Args:
        study: The problem.
        number: The number of the point in the catalogue of fixed points, from 1.

    Raises:
        InputError: There is no such point.
        ToleranceError: The point is not isolated, or is on the edge of the domain of a function.
        NotYetError: A mean has no closed form, or one that coq-interval does not bound.
    """
    stated = StationaryFlow.of(study, None)
    points, _ = points_of(stated, _STARTS, None)
    if not 1 <= number <= len(points):
        raise InputError(
            f"{number} is not between 1 and {len(points)}, the number of fixed points found",
            argument="fixed_point",
        )
    values = points[number - 1][0].values
    try:
        traced = TracedFlow.of(stated.own, formulas_of(study, stated.own))
        with working_bits(_BITS):
            field = VectorField.of(traced.rates)
            point = proved_root(
                field.rates,
                lambda y: list(field.slopes(y).entries()),
                traced.values(stated.flow.state(values)),
                _BITS,
            )
        return coq_fixed_point(traced.rates, traced.names, point)
    except NotYetError as error:
        raise error.renamed("to") from None
    except ToleranceError:
        raise ToleranceError(
            f"fixed point {number} could not be enclosed: it is not isolated, or it is on the edge "
            "of the domain of a function, as Q = R = T is; take another one, or add label noise"
        ) from None
