"""A loss by name."""

from benchmarks.additions.addition import Addition, Edit

LOSS = Addition(
    row="loss",
    what="log(1 + (s − t)²)/2",
    goal=1,
    edits=(
        Edit(
            "symderiv/formula/named_losses.py",
            '        "huber": ',
            '        "cauchy": "log(1 + (s - t)**2)/2",\n        "huber": ',
        ),
    ),
    check=r"""
import symderiv as sd
from symderiv.learning.rule.loss import loss

assert loss("cauchy").expression == loss("log(1 + (s - t)**2)/2").expression
assert "cauchy" in sd.Problem.__doc__
problem = sd.Problem(
    "erf", students=1, teachers=1, learning_rate=0.2, loss="cauchy", inputs=sd.Isotropic(100)
)
assert 'loss = "cauchy"' in problem.to_toml()
problem.simulate(runs=1, end=0.1)
try:
    problem.replace(loss="t**2")
except sd.InputError as error:
    assert "cauchy" in str(error)
else:
    raise AssertionError("a loss without s")
""",
    asking=("tests/unit/learning/test_losses.py", "tests/unit/library/test_keys.py"),
)
