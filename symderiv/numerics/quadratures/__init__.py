"""Templates of Gaussian means by quadrature, smooth or kinked, alone or together."""
