"""HTML pages and terminal summaries, made of curves, claims and derivations."""
