"""Documents as one tree, their writers for terminals, pages and LaTeX, and mathematics as text."""
