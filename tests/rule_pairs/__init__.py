"""Every pair of keys of learning rules: derived, or refused when the problem is stated."""
