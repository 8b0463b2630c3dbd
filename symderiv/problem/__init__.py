"""A learning problem as data: keys of a study with their checks, inputs, initial states, rule."""
