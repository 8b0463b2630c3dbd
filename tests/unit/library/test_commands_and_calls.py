"""Every command prints with --json what the public call of the same question says of itself."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import symderiv
from support.studies import toml

import symderiv as sd
from symderiv import cli
from symderiv.api.deriving import checked_in
from symderiv.api.results.equations import verified
from symderiv.api.starting import study_from_template
from symderiv.foundation.showing import plain

STUDY = toml(
    network={"activation": "erf", "students": 2, "teachers": 1},
    data={"model": "isotropic", "dimension": 40},
    training={"learning_rate": 0.5},
    initial={"student_std": 0.1},
    simulation={"runs": 2},
    time={"end": 2.0, "points": 5},
)

# What depends on when it was computed.
_MOMENTARY = {"wall_seconds"}


def solved() -> Any:
    return sd.Problem.from_toml("s.toml").solve(output="s-run.nc")


def simulated() -> Any:
    return sd.Problem.from_toml("s.toml").simulate(runs=3, output="s-sim.nc")


LATE = {"units": 2, "distinct_eigenvalues": 8, "exponent": 1.0, "learning_rate": 0.1}
MOMENTS = {"T1": "1", "D1": "1/5", "T2": "1.3", "D2": "0.2"}

CASES: dict[str, tuple[str, Any]] = {
    "localise": (
        "localise --gain 2 --lengths 1,0.5 --sites 6 --units 2 --steps 5 --batch 4 --runs 2",
        lambda: sd.localise(gain=2, lengths=(1, 0.5), sites=6, units=2, steps=5, batch=4, runs=2),
    ),
    "expect": (
        'expect erf(x)*y --covariance [[1,"1/2"],["1/2",2]] --digits 20',
        lambda: sd.mean("erf(x)*y", [["1", "1/2"], ["1/2", "2"]], digits=20),
    ),
    "integral": (
        "integral i4 --activations erf,linear,relu,linear --digits 9 "
        "--covariance [[1,0.1,0.2,0],[0.1,1,0,0.3],[0.2,0,2,0.1],[0,0.3,0.1,1]]",
        lambda: sd.i4(
            *("erf", "linear", "relu", "linear"),
            [[1, 0.1, 0.2, 0], [0.1, 1, 0, 0.3], [0.2, 0, 2, 0.1], [0, 0.3, 0.1, 1]],
            digits=9,
        ),
    ),
    "check": (
        "check i2 --activation linear --formula c12",
        lambda: sd.check("i2", "c12", "linear"),
    ),
    "derive": ("derive --activation linear", lambda: sd.derive("linear")),
    "generate": (
        "generate --activation linear --name lin --output out",
        lambda: sd.generate("linear", "lin", output="out"),
    ),
    "export": (
        "export s.toml --to c --output s.c",
        lambda: sd.Problem.from_toml("s.toml").export("c", "s.c"),
    ),
    "init": (
        "init new.toml --template two-units",
        lambda: study_from_template("two-units", Path("new.toml"), force=True),
    ),
    "cite": ("cite s.toml", lambda: sd.Problem.from_toml("s.toml").cite()),
    "solve": ("solve s.toml --output s-run.nc", solved),
    "simulate": ("simulate s.toml --runs 3 --output s-sim.nc", simulated),
    "study": (
        "study s.toml --output results",
        lambda: sd.Problem.from_toml("s.toml").study("results"),
    ),
    "sweep": (
        "sweep s.toml --over training.learning_rate=0.1,0.2 --output grid",
        lambda: sd.Problem.from_toml("s.toml").sweep(
            {"training.learning_rate": [0.1, 0.2]}, output="grid"
        ),
    ),
    "map": (
        "map s.toml --quantity final_error --over training.learning_rate=0.1:0.2 "
        "--over initial.student_std=log:0.01:0.1 --resolution 2 --coarse 2",
        lambda: sd.Problem.from_toml("s.toml").map(
            "final_error",
            over={
                "training.learning_rate": (0.1, 0.2),
                "initial.student_std": (0.01, 0.1, "log"),
            },
            resolution=2,
            coarse=2,
        ),
    ),
    "plateau": (
        "plateau --units 3 --T1 1 --D1 1/5 --T2 1.3 --D2 0.2 --digits 18",
        lambda: sd.plateau(units=3, digits=18, **MOMENTS),
    ),
    "asymptotics": (
        "asymptotics --units 2 --distinct-eigenvalues 8 --exponent 1 --learning-rate 0.1 "
        "--alpha 1,10",
        lambda: sd.late(alpha=[1, 10], **LATE),
    ),
    "linear": (
        "linear --distinct-eigenvalues 8 --exponent 1 --learning-rate 0.5 --alpha 0,3 --digits 18 "
        "--student-std 0.4 --trainable 5 --method companion --working-digits 60",
        lambda: sd.linear(
            distinct_eigenvalues=8,
            exponent=1,
            learning_rate=0.5,
            alpha=[0, 3],
            digits=18,
            student_std=0.4,
            trainable=5,
            method="companion",
            working_digits=60,
        ),
    ),
    "one-step": (
        "one-step one.toml --quick",
        lambda: sd.OneStep.from_toml("one.toml").quick().run(),
    ),
    "optimise": (
        "optimise s.toml --bounds 0,1 --end 2 --pieces 2",
        lambda: sd.Problem.from_toml("s.toml").optimise(bounds=(0, 1), end=2, pieces=2),
    ),
    "equilibrium": (
        "equilibrium s.toml --alpha 2,8",
        lambda: sd.Problem.from_toml("s.toml").equilibrium(alpha=[2, 8]),
    ),
    "thresholds": ("thresholds abs(z)+noise/2", lambda: sd.thresholds("abs(z)+noise/2")),
    "fixed-points": (
        "fixed-points s.toml --unconnected --starts 2",
        lambda: sd.Problem.from_toml("s.toml").fixed_points(unconnected=True, starts=2),
    ),
    "verify": (
        "verify saad-solla-1995 --equation {equation}",
        lambda: sd.verify("saad-solla-1995", "{equation}"),
    ),
}


def without_moments(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in _MOMENTARY}


def test_the_walk_covers_every_command() -> None:
    import typer

    group: Any = typer.main.get_command(cli.build_app())
    # the schema is a JSON object without being asked for one
    assert set(group.commands) == set(CASES) | {"schema"}


@pytest.mark.turns(6)
@pytest.mark.parametrize("command", sorted(set(CASES) - {"verify"}))
def test_json_is_what_the_call_says_of_itself(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(STUDY)
    Path("one.toml").write_text('n = 20\nactivation = "tanh"\ntrials = 2\n')
    words, call = CASES[command]
    ended = symderiv(*words.split(), "--json")
    assert ended.returncode == 0, ended.stderr
    printed = ended.json
    if command == "sweep":  # a second call finds the first one's points
        printed["skipped"] = printed["completed"]
    found = plain(call().to_dict())
    assert without_moments(found) == without_moments(printed)


def test_json_of_a_paper_is_what_the_call_says_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        {
            "paper": "p",
            "name": "1",
            "verdict": verdict,
            "mutants": None,
            "evidence": [],
            "note": "n",
            "corrected": "c",
            "regime": "r",
        }
        for verdict in ("holds", "false")
    ]
    # the verdicts themselves take minutes; what is asked and what is shown of them does not
    asked: list[Any] = []

    def found(*arguments: Any) -> list[dict[str, Any]]:
        asked.append(arguments[:3])
        return list(records)

    monkeypatch.setattr(verified, "_verified", found)
    ended = symderiv("verify", "p", "--verdict", "false", "--json")
    assert ended.returncode == 0
    printed = ended.json
    assert plain(sd.verify("p", verdict="false").to_dict()) == printed
    assert asked[0] == asked[1]
    assert [claim["verdict"] for claim in printed["claims"]] == ["false"]


def test_checked_in_modules_are_compared_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from symderiv.checking import recipes

    monkeypatch.setattr(recipes, "write_checked_in", lambda folder, check: ["erf"])
    ended = symderiv("generate", "--checked-in", "--check", "--json")
    assert ended.returncode == 1
    assert ended.json == plain(checked_in(check=True).to_dict())
