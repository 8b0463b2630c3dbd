"""Claims as data: what is claimed of which equation, what it uses, its hash."""
