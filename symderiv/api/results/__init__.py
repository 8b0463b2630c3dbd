"""Results of the public calls, which show, draw and save themselves."""
