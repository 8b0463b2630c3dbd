"""Means as functions of programs: closed, by mixtures, by quadrature with its error."""
