"""HTML pages and terminal summaries, put together from curves, claims and derivations."""
