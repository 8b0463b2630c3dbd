"""``make docs-results``: what the tutorials open instead of running it at every build."""

from pathlib import Path

import symderiv as sd

FOLDER = Path(__file__).parent / "tutorials" / "stored"


def main() -> None:
    inputs = sd.PowerLaw(4, exponent=1, dimension=1024)
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.1, inputs=inputs)
    problem.simulate(
        runs=4, end=1500, points=30, output=FOLDER / "plateau-sgd.nc", progress="lines"
    )


if __name__ == "__main__":
    main()
