"""Learning problems and rules: the activations of student and teacher, and which are accepted."""
