"""On-line learning in soft committee machines: the equation of motion of R."""

from wrong_models.trial import Central, WrongModel

_STUDENTS = (
    "Sum(v[j] * (R[j, n] * (1 + Q[i, i]) - R[i, n] * Q[i, j]) / "
    "sqrt((1 + Q[i, i]) * (1 + Q[j, j]) - Q[i, j] ** 2), (j, 1, K))"
)
_TEACHERS = (
    "Sum(w[m] * (T[n, m] * (1 + Q[i, i]) - R[i, n] * R[i, m]) / "
    "sqrt((1 + Q[i, i]) * (1 + T[m, m]) - R[i, m] ** 2), (m, 1, M))"
)

CENTRAL = (
    Central(
        "saad-solla-1995",
        "dR",
        "Averaging over the inputs gives closed differential equations of the overlaps, for any "
        "numbers of hidden units of student and teacher.",
        (
            WrongModel(
                "students do not see each other",
                {_STUDENTS: _STUDENTS.replace("(j, 1, K)", "(j, i, i)")},
            ),
            WrongModel("no teacher", {_TEACHERS: "0"}),
            WrongModel("no students in the error", {_STUDENTS: "0"}),
            WrongModel("a sum of both outputs as error", {f" - {_STUDENTS}": f" + {_STUDENTS}"}),
            WrongModel("orthonormal teachers", {"T[n, m]": "delta(n, m)", "T[m, m]": "1"}),
            WrongModel(
                "linear units",
                {
                    "2 / pi / (1 + Q[i, i])": "1",
                    _TEACHERS: "Sum(w[m] * T[n, m], (m, 1, M))",
                    _STUDENTS: "Sum(v[j] * R[j, n], (j, 1, K))",
                },
            ),
            WrongModel("erf(x) for erf(x/sqrt(2))", {"1 + Q": "1 / 2 + Q", "1 + T": "1 / 2 + T"}),
            WrongModel(
                "units that are nearly signs", {"1 + Q": "1 / 50 + Q", "1 + T": "1 / 50 + T"}
            ),
            WrongModel("ascent", {"eta * v[i]": "-eta * v[i]"}),
            WrongModel("another unit of time", {"eta * v[i]": "eta / 2 * v[i]"}),
            WrongModel("a step of order eta squared", {"eta * v[i]": "eta ** 2 * v[i]"}),
            WrongModel(
                "without what the other fields fix",
                {" - R[i, n] * R[i, m]": "", " - R[i, n] * Q[i, j]": ""},
            ),
            WrongModel(
                "fields without correlation in the widths",
                {" - R[i, m] ** 2": "", " - Q[i, j] ** 2": ""},
            ),
            WrongModel("output weights that are equal", {"v[j]": "1", "w[m]": "1"}),
        ),
    ),
)
