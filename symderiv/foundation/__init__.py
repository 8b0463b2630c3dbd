"""What every room stands on: errors, limits, progress, files, text of mathematics."""
