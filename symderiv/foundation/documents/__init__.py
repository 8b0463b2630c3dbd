"""What is shown, as one tree; its writers to terminals, pages and LaTeX; text of mathematics."""
