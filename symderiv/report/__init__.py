"""Results as people read them: terminal summaries, figures, HTML pages with native MathML."""
