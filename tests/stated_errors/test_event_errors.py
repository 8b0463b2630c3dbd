"""What located events state of the error of their times, against long doubles."""

import shutil

import pytest

from stated_errors.campaign import flow_at
from stated_errors.drawing import Drawn, draw
from stated_errors.long_double import LONG, Compiled, extrapolated, library
from symderiv.api.results.followed import FollowedStudy
from symderiv.integrate.events.asked import asked_events
from symderiv.integrate.events.located_events import LocatedEvent
from symderiv.integrate.flows.event_times import SeenRun, denser, located
from symderiv.problem.flat_layout import fields_of

pytestmark = pytest.mark.turns(6)

_APART = 1e-6


def event_of(drawn: Drawn, text: str) -> LocatedEvent:
    """The event of a study with its own start."""
    followed = FollowedStudy(drawn.study, drawn.start.state)
    ((event,), _) = asked_events([text], None)
    condition = followed.condition(event)
    assert condition is not None
    varied = followed.varied({}, {}, condition.needs)
    seen = SeenRun.of(varied, denser(drawn.study.alpha, varied.course))
    return LocatedEvent(located(event, condition, seen))


def true_error(drawn: Drawn, time: float, entry: tuple[int, int], level: float) -> float:
    """How far R[entry] is from its level at a time, in time."""
    flow, times = flow_at(drawn), [time, time * (1 + _APART)]
    found = library(flow.kernel.student_activation, flow.kernel.teacher_activation)
    rates = Compiled.of(found, flow.sizes, flow.parameters)
    rows = extrapolated(rates, flow.begin.astype(LONG), times, 3e-17)
    state = flow.state
    weight, eigenvalue = (each.astype(LONG) for each in (state.weight, state.eigenvalue))
    R = fields_of(rows, weight, eigenvalue, state.K, state.M)[4][(slice(None), *entry)]
    return abs(float((R[0] - LONG(level)) * (_APART * time) / (R[1] - R[0])))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="long doubles take gcc")
@pytest.mark.parametrize(
    ("number", "condition"),
    [
        (91, "R[2,1] > 0.09233"),
        (144, "R[2,1] > 0.1612"),
        (157, "R[1,2] < -0.2846"),
        (187, "R[1,1] > 0.1655"),
    ],
)
def test_the_error_of_an_event_is_not_stated_below_the_true_one(
    number: int, condition: str
) -> None:
    """Runs with ten times the tolerance cross these runs near the events, or differ by chance by
    less than their errors: their difference was 2 to 40 times too small.
    """
    drawn = draw(number, 31)
    event = event_of(drawn, condition)
    entry, _, level = condition.split()
    i, n = (int(each) - 1 for each in entry[2:-1].split(","))
    true = true_error(drawn, event.time, (i, n), float(level))
    assert true < event.error_bound < 1e4 * true
    assert event.error_method == "estimate"
    # nor is it far above what is asked for
    assert event.error_bound < 10 * drawn.study.time.relative_tolerance * event.time


def test_an_event_that_holds_from_the_start_has_no_error() -> None:
    event = event_of(draw(144, 31), "Q[1,1] > 0")
    assert event.time == 0.0
    assert event.error_bound == 0.0
