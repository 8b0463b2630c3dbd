"""The basis of every room: errors, limits, progress, files, text of mathematics."""
