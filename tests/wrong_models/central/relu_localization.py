"""Notes on localisation: the gradient flow of a ReLU network on two Gaussian classes."""

from wrong_models.trial import Central, WrongModel

_ANGLE = "acos(-rho[1, k] / sqrt(rho[1, 1] * rho[k, k]))"
_ANGLE_0 = "acos(-rho0[1, k] / sqrt(rho0[1, 1] * rho0[k, k]))"
_LABEL = "1 / (2 * sqrt(2 * pi)) * rho[1, 1] ** (-1 / 2) * Sw[1, i]"
_EDGE = "sqrt(rho[1, 1] * rho[k, k] - rho[1, k] ** 2) / rho[1, 1] * Sw[1, i]"
_EDGE_0 = "sqrt(rho0[1, 1] * rho0[k, k] - rho0[1, k] ** 2) / rho0[1, 1] * S0w[1, i]"

CENTRAL = (
    Central(
        "relu-localization-notes",
        "after 52 flow with both classes",
        "The gradient flow of the first layer of a ReLU network, with its label term and the "
        "competition of its units, is to say which inputs localise.",
        (
            WrongModel("the class Y = 0 is forgotten", {"S0w": "0 * S0w"}),
            WrongModel("one covariance for both classes", {"S0w": "Sw", "rho0": "rho"}),
            WrongModel("no competition of units", {_ANGLE: "0", _ANGLE_0: "0"}),
            WrongModel(
                "linear units", {_ANGLE: "2 * pi", _ANGLE_0: "2 * pi", _EDGE: "0", _EDGE_0: "0"}
            ),
            WrongModel(
                "gates that do not know of each other", {_ANGLE: "pi / 2", _ANGLE_0: "pi / 2"}
            ),
            WrongModel("units that repel where they are alike", {"acos(-": "acos("}),
            WrongModel("the arcsine of equation 30", {_ANGLE: _ANGLE.replace("acos(-", "asin(")}),
            WrongModel("no label", {_LABEL: "0"}),
            WrongModel("labels 1 and -1", {_LABEL: f"2 * {_LABEL}"}),
            WrongModel(
                "a label term with a conditional mean",
                {"1 / (2 * sqrt(2 * pi))": "1 / sqrt(2 * pi)"},
            ),
            WrongModel("a label term without saturation", {"rho[1, 1] ** (-1 / 2)": "1"}),
            WrongModel("a sum of units for their mean", {"1 / (2 * K) * (1 / 2": "1 / 2 * (1 / 2"}),
            WrongModel(
                "no shrinking of a unit by itself",
                {"1 / 2 * Sw[1, i] + ": "", "1 / 2 * S0w[1, i] + ": ""},
            ),
            WrongModel("no term of the gates' edge", {_EDGE: "0", _EDGE_0: "0"}),
            WrongModel("isotropic classes", {"Sw[": "w["}),
        ),
    ),
)
