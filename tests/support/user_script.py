"""A script as users write it; `make lint` checks that all of its types are known."""

import numpy as np

import symderiv as sd

problem: sd.Problem = sd.Problem(
    "tanh",
    students=3,
    teachers=2,
    learning_rate=0.3,
    inputs=sd.PowerLaw(64, exponent=1, dimension=1024),
)
text: str = problem.equations.to_latex()
run: sd.Trajectory = problem.replace(learning_rate=0.2).solve(end=1000, progress=False)
error: np.ndarray = run.generalization_error
sgd: sd.Simulation = problem.simulate(runs=8, end=100)
run.plot(sgd).set_title("both")
rates: np.ndarray = problem.rates(Q=np.eye(3), R=np.zeros((3, 2)), T=np.eye(2)).dQ
value = sd.mean("erf(x)*y", covariance=[[1, 0.5], [0.5, 2]], digits=20).value
digits = sd.linear(learning_rate=0.5, alpha=[1.0], distinct_eigenvalues=4, exponent=1.0).to_dict()[
    "digits_used"
]
problem.generate("tanh_solver")
for each in problem.grid(learning_rate=[0.1, 0.2]):
    each.solve(end=1.0).save("run.nc")
try:
    sd.open("run.nc")
except sd.InputError as wrong:
    print(wrong.argument)
