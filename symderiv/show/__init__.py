"""Results as people read them: figures, terminal summaries, HTML pages with native MathML."""
