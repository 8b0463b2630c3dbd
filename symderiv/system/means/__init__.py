"""Means of an arbitrary statement: taken apart by independence, closed or by quadrature."""
