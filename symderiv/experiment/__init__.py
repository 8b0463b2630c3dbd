"""SGD at finite N, from the statement of a learning problem."""
