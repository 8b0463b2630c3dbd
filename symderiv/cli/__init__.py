"""The commands; the only place that ties the rooms together."""


def main() -> None:
    """Entry point of the ``symderiv`` command."""
