"""Owen's function as a ball, by rigorous quadrature."""

from __future__ import annotations

from flint import acb, arb


def owen_t(h: arb | acb, a: arb, bits: int) -> arb | acb:
    r"""Return T(h, a) as a ball, at the working precision of the caller.

    .. math:: T(h, a) = \frac{e^{-h^2/2}}{2\pi}\int_0^a \frac{e^{-h^2x^2/2}}{1+x^2}\,dx

    The integrand is meromorphic, with poles at ±i, so rigorous adaptive quadrature applies on the
    finite interval to the middle of ``a``; from there to any number of the ball ``a`` it is at most
    the distance times the size of the integrand on the way.

    Args:
        h: Real or complex ball.
        a: Finite real ball.
        bits: The relative accuracy that is asked of the integral.
    """
    h = acb(h)
    half_square = h * h / 2

    def integrand(x: acb, analytic: bool) -> acb:
        square = x * x
        return (-half_square * square).exp() / (1 + square)

    if not (h.is_finite() and a.is_finite()):
        return arb("nan")
    end = a.mid()
    value = acb(0)
    # The integrand falls off on the scale 1/|h|: dyadic pieces save the adaptive rule the search.
    edge, size = arb(0), abs(end)
    piece = (1 / (1 + abs(half_square))).sqrt().mid()
    sign = -1 if end < 0 else 1
    floor = arb((1, -bits))
    while edge < size:
        upper = edge + piece
        if not upper < size:
            upper = size
        value += acb.integral(
            integrand, acb(edge), acb(upper.mid()), rel_tol=floor, abs_tol=floor * abs(value).mid()
        )
        edge, piece = upper.mid(), 2 * piece
    reached = sign * edge
    near = integrand(acb(a.union(reached)), False)
    rest = arb(0, ((a - reached) * abs(near)).abs_upper())
    value = sign * value + acb(rest, rest if not half_square.imag.is_zero() else arb(0))
    value *= (-half_square).exp() / (2 * arb.pi())
    return value.real if half_square.imag.is_zero() else value
