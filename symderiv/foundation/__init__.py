"""The basis of every room: errors, limits, progress, files, and mathematics as text."""
