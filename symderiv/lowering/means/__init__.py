"""Means as functions of programs: in closed form, by mixtures, or by quadrature with its error."""
