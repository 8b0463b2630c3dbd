"""A key of a study: times that are a step apart."""

from benchmarks.additions.addition import Addition, Edit

_TABLES = "symderiv/keys/study_tables.py"

KEY = Addition(
    row="key of a study",
    what="time.step",
    goal=1,
    edits=(
        Edit(
            _TABLES,
            "    relative_tolerance: Annotated[",
            """    step: Annotated[
        Positive | None,
        Key(
            "results at its multiples and at the end",
            instead_of=("points", "spacing", "values"),
            needs="end",
        ),
    ] = None
    relative_tolerance: Annotated[""",
        ),
        Edit(
            _TABLES,
            "        return _times(self.end, ",
            """        if self.step is not None:
            return np.append(np.arange(0.0, self.end, self.step), self.end)
        return _times(self.end, """,
        ),
    ),
    check=r"""
import symderiv as sd
from symderiv.api.starting import study_schema

problem = sd.Problem(
    "erf", students=1, teachers=1, learning_rate=0.2, inputs=sd.Isotropic(100),
    time={"end": 7.0, "step": 2.0},
)
again = sd.Problem.from_toml(problem.to_toml())
assert again.time.step == 2.0 and "points" not in problem.to_toml()
assert again.solve().alpha.tolist() == [0.0, 2.0, 4.0, 6.0, 7.0]
schema = study_schema()["$defs"]["Time"]["properties"]["step"]
assert schema["description"].startswith("results at its multiples")
for wrong, told in (({"step": 2.0}, "end"), ({"end": 7.0, "step": 1.0, "points": 3}, "points")):
    try:
        problem.replace(time=wrong)
    except sd.InputError as error:
        assert told in str(error)
    else:
        raise AssertionError(wrong)
""",
    asking=("tests/unit/library/test_keys.py", "tests/unit/dynamics/test_study_files.py"),
)
