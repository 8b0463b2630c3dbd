"""Working terms of the Gaussian calculus and the algebra of their covariances."""
