"""Results as figures, terminal summaries, and HTML pages with native MathML."""
