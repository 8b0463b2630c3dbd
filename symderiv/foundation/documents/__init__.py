"""Documents as one tree, their writers to terminals, pages and LaTeX, and mathematics as text."""
