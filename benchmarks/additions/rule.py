"""A learning rule that is nothing but its statement: students that decay along their sum."""

from benchmarks.additions.addition import Addition, Edit

_STATED = "symderiv/learning/rule/stated_rule.py"

RULE = Addition(
    row="rule that is nothing but its statement",
    what="decay along the sum of the students",
    goal=6,
    edits=(
        Edit(
            _STATED,
            '    if problem.rule.normalise == "sphere":\n        P.constrain(',
            '    if rate := numbers.size("sum_decay"):\n'
            "        P.update({J: [-rate * J.array.sum()] * numbers.K})\n"
            '    if problem.rule.normalise == "sphere":\n        P.constrain(',
        ),
        Edit(
            "symderiv/keys/study_tables.py",
            '    @model_validator(mode="after")\n    def _one_rule(self)',
            "    sum_decay: Annotated[\n"
            "        NotNegative,\n"
            "        RuleKey(\n"
            '            "J_i ← J_i − κ Σ_j J_j/N: students repel each other",\n'
            '            "κ_Σ",\n'
            '            acts="statement",\n'
            "            apart=_NOT_STATED,\n"
            '            sources={"Nobody2026": "decay along the sum of the students"},\n'
            "        ),\n"
            "    ] = 0.0\n\n"
            '    @model_validator(mode="after")\n    def _one_rule(self)',
        ),
        Edit(
            "tests/unit/system/test_rules_as_statements.py",
            '            ("both on a sphere", SOBOLEV',
            '            ("a sum", {"sum_decay": 0.3}, {"label_noise": 0.2, "teachers": 2}),\n'
            '            ("both on a sphere", SOBOLEV',
        ),
        Edit(
            "docs/bibliography.bib",
            "@inproceedings{CzarneckiEtAl2017,",
            "@misc{Nobody2026,\n  author = {Nobody, A.},\n  title = {Decay along a sum},\n"
            "  year = {2026}\n}\n\n@inproceedings{CzarneckiEtAl2017,",
        ),
    ),
    check=r"""
import numpy as np
import symderiv as sd

plain = sd.Problem(
    "erf", students=3, teachers=2, learning_rate=0.5, inputs=sd.Isotropic(400), seed=1
)
added = plain.replace(sum_decay=0.3)
assert r"\kappa_\Sigma" in added.equations.to_latex()
assert "sum_decay" in map(str, added.system.statement.symbols.parameters)
drawn = np.random.default_rng(1).normal(size=(5, 9))
fields = drawn @ drawn.T / 9
Q, R, T = fields[:3, :3], fields[:3, 3:], fields[3:, 3:]
before, after = (problem.rates(Q=Q, R=R, T=T) for problem in (plain, added))
along = -0.3 * np.ones((3, 3))
np.testing.assert_allclose(after.dR - before.dR, along @ R, atol=1e-12)
np.testing.assert_allclose(after.dQ - before.dQ, along @ Q + (along @ Q).T, atol=1e-12)
added.simulate(runs=1, end=0.1)
""",
    asking=(
        "tests/unit/library/test_keys.py",
        "tests/unit/library/test_citations.py",
        "tests/unit/system/test_rules_as_statements.py::"
        "test_a_run_of_a_rule_is_that_of_its_statement",
    ),
)
