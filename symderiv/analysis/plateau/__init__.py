"""The symmetric plateau: its state, its stability and the escape from it."""
