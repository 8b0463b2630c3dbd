"""First principles that claims of several papers are compared with."""
