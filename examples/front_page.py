"""The figure of the README: ``python examples/front_page.py docs/front-page.svg``."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt

import symderiv as sd

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "symderiv"


def main() -> None:
    inputs = sd.PowerLaw(64, exponent=1, dimension=1024)
    problem = sd.Problem("erf", students=3, teachers=2, learning_rate=0.5, inputs=inputs)
    run = problem.solve(end=1000)
    sgd = problem.simulate(runs=4, end=20)
    _, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    run.plot(sgd, ax=axes)
    axes.figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
